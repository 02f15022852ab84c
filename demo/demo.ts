/** One tensor through a second addon, a worker, Python and a TVM-FFI kernel and back: one address, no copies. */

import { existsSync } from 'node:fs';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';
import { Worker } from 'node:worker_threads';
import { DLPACK, fromDLPack, isDLPackError, Tensor } from 'dlpack';
import { addressOf } from 'dlpack/native';
import { python } from 'dlpack/python';
import { openTensor, shareTensor, type TensorToken } from 'dlpack/shared';
import { type FFIFunction, loadModule } from 'dlpack/tvm-ffi';

interface Hop {
  readonly to: string;
  readonly how: string;
  /** The tensor as it comes out of the hop. */
  run(x: Tensor<'float32'>): Tensor<'float32'> | Promise<Tensor<'float32'>>;
}

const scaler = createRequire(import.meta.url)('../native/scale.node') as { scale(external: object): object };
const worker = new Worker(new URL('./worker.js', import.meta.url));
const viaWorker = (token: TensorToken) =>
  new Promise<TensorToken>((resolve) => {
    worker.once('message', resolve);
    worker.postMessage(token);
  });
await viaWorker(shareTensor(Tensor.zeros([1], 'float32'))); // started

const hops: Hop[] = [
  { to: 'JavaScript', how: 'fromDLPack(tensor)', run: (x) => fromDLPack(x) },
  {
    to: 'second addon and back',
    how: 'native external; C++ doubles 16 elements',
    run: (x) => fromDLPack(scaler.scale(x.slice([0, 16])[DLPACK]({ native: true }))) as Tensor<'float32'>,
  },
  {
    to: 'worker and back',
    how: 'token; the worker adds 1 to one element',
    run: async (x) => openTensor<'float32'>(await viaWorker(shareTensor(x))),
  },
];

/** The legs through Python, where there is one with NumPy; what is missing is said at the end. */
const leftOut: string[] = [];
try {
  const py = python();
  const np = py.import('numpy');
  hops.push({
    to: 'NumPy and back',
    how: 'np.from_dlpack, fromDLPack; Python in the process',
    run: (x) => fromDLPack(np.from_dlpack(x)) as Tensor<'float32'>,
  });
  const torch = py.import('torch');
  hops.push({
    to: 'NumPy, PyTorch and back',
    how: 'torch.from_dlpack(np.from_dlpack(x))',
    run: (x) => fromDLPack(torch.from_dlpack(np.from_dlpack(x))) as Tensor<'float32'>,
  });
} catch (error) {
  leftOut.push((error as Error).message);
}

/** The kernel of examples/kernels, or what is missing for it. */
function loadKernel(): FFIFunction | string {
  const file = fileURLToPath(new URL('../kernels/kernels.so', import.meta.url));
  if (!existsSync(file))
    return 'build/kernels/kernels.so, which needs the apache-tvm-ffi wheel in .venv (run npm test once)';
  try {
    return loadModule(file).add_one as FFIFunction;
  } catch (error) {
    if (isDLPackError(error, 'LoadError')) return error.message;
    throw error;
  }
}

const addOne = loadKernel();
if (typeof addOne !== 'string') {
  hops.push({
    to: 'TVM-FFI kernel and back',
    how: 'add_one of kernels.so on 16 elements',
    run: (x) => {
      const part = x.slice([16, 32]);
      addOne(part, part);
      part.dispose();
      return fromDLPack(x);
    },
  });
}

const REPEAT = 101;
const hex = (address: bigint) => `0x${address.toString(16)}`;
const array = new Float32Array(1 << 20).fill(2 ** -REPEAT);
const rows = [['hop', 'by', 'time', 'copies', 'address']];

/** Median of all runs, in microseconds. Each result is looked at, and disposed, outside of the measured time. */
async function measure(run: () => Tensor | Promise<Tensor>, look: (y: Tensor) => void): Promise<number> {
  const times: number[] = [];
  for (let k = 0; k < REPEAT; k++) {
    const begin = performance.now();
    const y = await run();
    times.push((performance.now() - begin) * 1e3);
    look(y);
    y.dispose();
  }
  return times.sort((a, b) => a - b)[REPEAT >> 1] as number;
}

const copying = await measure(
  () => Tensor.from(array),
  () => {},
);
const x = Tensor.from(array);
rows.push(['JavaScript', 'Tensor.from(Float32Array)', `${copying.toFixed(0)} µs`, '1, at the door', hex(addressOf(x))]);

let sound = true;
for (const hop of hops) {
  let address = 0n;
  const median = await measure(
    () => hop.run(x),
    (y) => {
      address = addressOf(y);
      sound &&= address === addressOf(x);
    },
  );
  rows.push([
    `→ ${hop.to}`,
    hop.how,
    `${median.toFixed(1)} µs`,
    address === addressOf(x) ? '0' : 'COPIED',
    hex(address),
  ]);
}
await worker.terminate();

const widths = rows[0]?.map((_, column) => Math.max(...rows.map((row) => (row[column] as string).length))) as number[];
console.log(`\nA float32 tensor of ${array.length} elements (4 MiB), medians of ${REPEAT} runs:\n`);
for (const row of rows)
  console.log(`  ${row.map((cell, column) => cell.padEnd(widths[column] as number)).join('   ')}`);
// Doubled by the addon and then incremented by the worker, each as often as the hop ran.
sound &&= x.get(0) === 1 + REPEAT && x.get(1) === 1 && x.get(-1) === 2 ** -REPEAT;
if (typeof addOne === 'string') leftOut.push(`the kernel call; missing ${addOne}`);
else sound &&= x.get(16) === REPEAT;
console.log(sound ? '\nOne address all the way, every write seen by the next in line.' : '\nFAILED: a write was lost.');
for (const reason of leftOut) console.log(`\nLeft out: ${reason}`);
process.exitCode = sound ? 0 : 1;
