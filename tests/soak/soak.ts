/**
 * Exchanges with every peer for as long as told: `soak.js --seconds 3600 [--report file.md]`. Each round checks the values it gets
 * back. Counts, memory and latencies are printed as it goes; a leak or a wrong value ends it with a failure.
 */

import { writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { Worker } from 'node:worker_threads';
import { fromDLPack, Tensor } from 'dlpack';
import { exportManaged, importManaged, stats } from 'dlpack/native';
import { python } from 'dlpack/python';
import { shareTensor } from 'dlpack/shared';
import { loadModule } from 'dlpack/tvm-ffi';

const { values: options } = parseArgs({
  options: { seconds: { type: 'string', default: '60' }, report: { type: 'string' } },
});

const py = python();
const [np, torch, jax] = [py.import('numpy'), py.import('torch'), py.import('jax.numpy')];
const kernels = loadModule(fileURLToPath(new URL('../../kernels/kernels.so', import.meta.url)));
const worker = new Worker(new URL('./worker.js', import.meta.url));

/** A tensor whose every element is `value`. */
const filled = (value: number): Tensor<'float32'> => Tensor.zeros([64, 64], 'float32').fill(value);

function expect(tensor: { get(...index: number[]): unknown }, value: number): void {
  if (tensor.get(63, 63) !== value) throw new Error(`expected ${value} but received ${String(tensor.get(63, 63))}`);
}

const peers: Record<string, (value: number) => void | Promise<void>> = {
  'C, by address'(value) {
    using x = filled(value);
    using y = importManaged(exportManaged(x));
    expect(y, value);
  },
  NumPy(value) {
    using x = filled(value);
    using y = fromDLPack(np.add(np.from_dlpack(x), 1));
    expect(y, value + 1);
  },
  PyTorch(value) {
    using x = filled(value);
    using y = fromDLPack(torch.add(torch.from_dlpack(x), 1));
    expect(y, value + 1);
  },
  JAX(value) {
    using x = filled(value);
    using y = fromDLPack(jax.add(jax.from_dlpack(x), 1));
    expect(y, value + 1);
  },
  async 'PyTorch, on another thread'(value) {
    using x = filled(value);
    using y = fromDLPack((await py.callAsync(torch.add, torch.from_dlpack(x), 1)) as object);
    expect(y, value + 1);
  },
  'a TVM-FFI kernel'(value) {
    using x = filled(value).reshape([4096]);
    using y = Tensor.zeros([4096], 'float32');
    (kernels.add_one as (...tensors: Tensor[]) => void)(x, y);
    if (y.get(4095) !== value + 1) throw new Error('the kernel computed something else');
  },
  async 'a worker'(value) {
    using x = filled(value);
    const answer = new Promise((resolve) => worker.once('message', resolve));
    worker.postMessage(shareTensor(x));
    await answer;
    expect(x, value + 1);
  },
  'a cast, left to the collector'(value) {
    expect(filled(value).astype('float16').astype('float32'), value);
  },
};

const times = new Map(Object.keys(peers).map((name) => [name, [] as number[]]));
const end = Date.now() + Number(options.seconds) * 1000;
const rows: string[] = [];
let rounds = 0;
let printed = 0;

const mib = (bytes: number): string => (bytes / 2 ** 20).toFixed(0);
const at = (sorted: readonly number[], part: number): string =>
  ((sorted[Math.floor((sorted.length - 1) * part)] ?? 0) * 1000).toFixed(0);

function print(): void {
  const { storages, imports, exports } = stats();
  const row = `| ${((Date.now() - (end - Number(options.seconds) * 1000)) / 1000).toFixed(0)} | ${rounds} | ${mib(process.memoryUsage.rss())} | ${storages} | ${imports} | ${exports} |`;
  rows.push(row);
  console.log(row);
  printed = Date.now();
}

console.log('| seconds | rounds | RSS MiB | storages | imports | exports |\n|---|---|---|---|---|---|');
while (Date.now() < end) {
  const value = rounds % 1000;
  for (const [name, exchange] of Object.entries(peers)) {
    const start = performance.now();
    await exchange(value);
    const list = times.get(name) as number[];
    list.push(performance.now() - start);
    if (list.length > 20_000) list.splice(0, 10_000);
  }
  rounds++;
  if (Date.now() - printed > Math.max(5000, (Number(options.seconds) * 1000) / 60)) print();
}
await worker.terminate();
const collect = (globalThis as { gc?: () => void }).gc;
for (let i = 0; i < 20 && stats().storages > 0; i++) {
  collect?.();
  py.import('gc').collect();
  await new Promise((resolve) => setTimeout(resolve, 50));
}
print();

const latencies = [...times].map(([name, list]) => {
  const sorted = list.sort((a, b) => a - b);
  return `| ${name} | ${at(sorted, 0.5)} | ${at(sorted, 0.99)} | ${at(sorted, 1)} |`;
});
const table = ['| exchange | median µs | 99 % µs | worst µs |', '|---|---|---|---|', ...latencies].join('\n');
console.log(`\n${table}`);

const left = stats();
const [middle, last] = [rows[Math.floor(rows.length / 2)], rows.at(-1)].map((row) => Number(row?.split('|')[3]));
const leaks = left.storages + left.imports + left.exports;
const grew = (last as number) > (middle as number) * 1.1 + 64;
console.log(`left behind: ${JSON.stringify(left)}; RSS ${middle} MiB halfway, ${last} MiB at the end`);
if (options.report !== undefined) {
  const head = '| seconds | rounds | RSS MiB | storages | imports | exports |\n|---|---|---|---|---|---|';
  writeFileSync(options.report, `${head}\n${rows.join('\n')}\n\n${table}\n`);
}
process.exit(leaks > 0 || grew ? 1 : 0);
