/**
 * Models on the GPU: memory of this package and of PyTorch goes in and comes out without a copy, in the order of streams.
 * Skipped without DLPACK_ONNXRUNTIME, because a library with a CUDA provider is too large for the packed folder.
 */

import { realpathSync } from 'node:fs';
import { fromDLPack, Tensor } from 'dlpack';
import { memoryInfo, pointerAttributes, Stream, synchronize } from 'dlpack/cuda';
import { emptyCache } from 'dlpack/debug';
import { addressOf } from 'dlpack/native';
import { loadRuntime, loadSession, type Session, type SessionOptions } from 'dlpack/onnxruntime';
import { equal, ok } from '../assert.js';
import { collectUntil, testWith } from '../harness.js';
import { makeGraph, makeModel, type Node } from '../interop/libraries/model.js';

const library = process.env.DLPACK_ONNXRUNTIME;
const missing = library ? false : 'DLPACK_ONNXRUNTIME names no library of ONNX Runtime with a CUDA provider';
const modelTest = (name: string, body: () => void | Promise<void>) => testWith(missing, name, body);
const peers = () => import('./peers.js');
if (missing === false)
  await peers(); // the provider needs cuBLAS, which PyTorch has loaded then
else delete process.env.CI; // where it is set, what is missing is a failure

const onDevice = { device: 'cuda:0' } as const;
const relu = makeModel('Relu', 1, 'float32');
const sum = makeModel('Add', 2, 'float32');
const product = makeModel('MatMul', 2, 'float32');

/** Loads a model none of whose kernels may run on the CPU. */
const load = (model: Uint8Array, options: SessionOptions = {}): Promise<Session> =>
  loadSession(model, { providers: ['cuda'], config: { 'session.disable_cpu_ep_fallback': '1' }, ...options });

const host = Tensor.from(Float32Array.of(-1, 2, 3, -4), { shape: [2, 2] });
const positive = [0, 2, 3, 0];
const there = (): Tensor => host.to('cuda:0');
const flat = (tensor: Tensor) => tensor.to('cpu').reshape([-1]).toArray();

const MiB = 2 ** 20;
const large = [8192, 8192]; // 256 MiB of float32
const largeBytes = 256 * MiB;

modelTest('the library is the one of the variable, with a CUDA provider', () => {
  const { version, path, from, providers } = loadRuntime();
  console.log(`ONNX Runtime ${version}: ${providers.join(', ')}`);
  equal([from, realpathSync(path)], ['DLPACK_ONNXRUNTIME', realpathSync(library as string)]);
  ok(providers.includes('CUDAExecutionProvider'), providers.join(', '));
});

modelTest('an input on the device gives an output on the device', async () => {
  using session = await load(relu);
  using x = there();
  for (const outputs of [await session.run({ x }), session.runSync({ x })]) {
    using y = outputs.y as Tensor;
    equal([y.device, y.dtype, y.shape], ['cuda:0', 'float32', [2, 2]]);
    equal(pointerAttributes(addressOf(y))?.device, 'cuda:0', 'what the driver says about the memory');
    equal(flat(y), positive);
    y.fill(9);
    equal(flat(y), [9, 9, 9, 9], 'the output is writable');
  }
  x.fill(5);
  using y = session.runSync({ x }).y as Tensor;
  equal(flat(y), [5, 5, 5, 5], 'what is written after a run is seen by the next one');
});

modelTest('a product of matrices, by cuBLAS', async () => {
  using session = await load(product);
  using x = there();
  using y = (await session.run({ x })).y as Tensor;
  equal(flat(y), [7, -10, -15, 22]);
});

modelTest('a view with strides is copied on the device', async () => {
  using session = await load(relu);
  using x = there();
  using y = (await session.run({ x: x.transpose() })).y as Tensor;
  equal([y.device, flat(y)], ['cuda:0', [0, 3, 2, 0]]);
});

modelTest('`device` says where outputs go; without it, where the inputs are', async () => {
  using session = await load(relu);
  using x = there();
  const placeOf = async (input: Tensor, device?: 'cpu' | 'cuda:0') => {
    using y = (await session.run({ x: input }, device === undefined ? {} : { device })).y as Tensor;
    equal(flat(y), positive);
    return y.device;
  };
  equal(
    [await placeOf(host), await placeOf(x), await placeOf(host, 'cuda:0'), await placeOf(x, 'cpu')],
    ['cpu', 'cuda:0', 'cuda:0', 'cpu'],
  );
});

modelTest('PyTorch gives the input and takes the output, at one address each', async () => {
  const { address, main, values, write } = await peers();
  using session = await load(sum);
  const given = main.torch_array();
  using x = fromDLPack(given);
  equal(addressOf(x), address(given));
  using first = (await session.run({ x })).y as Tensor;
  equal(flat(first), [0, 2, 4, 6, 8, 10]);
  write(given, 7);
  using y = (await session.run({ x })).y as Tensor;
  equal(flat(y), [14, 14, 14, 14, 14, 14], 'what PyTorch writes after the import is seen');
  const taken = main.torch.from_dlpack(y);
  equal(address(taken), addressOf(y));
  equal(values(taken), [14, 14, 14, 14, 14, 14]);
  write(taken, 3);
  equal(flat(y), [3, 3, 3, 3, 3, 3], 'what PyTorch writes to the output is seen');
  using direct = (await session.run({ x: given })).y as Tensor;
  equal([direct.device, flat(direct)], ['cuda:0', [14, 14, 14, 14, 14, 14]], 'without an import before');
});

modelTest('a given tensor is written in place, of this package and of PyTorch', async () => {
  const { main, values } = await peers();
  using session = await load(relu);
  using x = there();
  using own = Tensor.zeros([2, 2], 'float32', onDevice);
  const address = addressOf(own);
  equal((await session.run({ x }, { outputs: { y: own } })).y === own, true);
  equal([addressOf(own), flat(own)], [address, positive]);
  const theirs = main.torch.zeros_like(main.torch.from_dlpack(x));
  using y = fromDLPack(theirs);
  session.runSync({ x }, { outputs: { y } });
  synchronize();
  equal(values(theirs), positive);
});

// The next two tests measure memory, so they come before others whose sessions, which end on another thread, use much.

modelTest('disposed outputs are used again, and a disposed session gives its memory back', async () => {
  using x = Tensor.zeros(large, 'float32', onDevice);
  emptyCache();
  const before = memoryInfo().free;
  const session = await load(sum);
  const runs = async (count: number) => {
    for (let i = 0; i < count; i++) ((await session.run({ x })).y as Tensor).dispose();
    synchronize();
    return memoryInfo().free;
  };
  const first = await runs(5);
  ok(before - first > largeBytes / 2, `an output is in memory of its own: ${(before - first) / MiB} MiB`);
  const last = await runs(50);
  ok(first - last < largeBytes / 2, `${(first - last) / MiB} MiB more after fifty runs`);
  session.dispose();
  const isBack = () => before - memoryInfo().free < largeBytes / 2;
  ok(await collectUntil(isBack), `${(before - memoryInfo().free) / MiB} MiB are kept`);
});

modelTest('a run from a given tensor to a given tensor takes no memory on the device', async () => {
  using session = await load(sum);
  using small = there();
  ((await session.run({ x: small })).y as Tensor).dispose(); // what the first run needs
  using x = Tensor.zeros(large, 'float32', onDevice);
  using y = Tensor.zeros(large, 'float32', onDevice);
  x.fill(4);
  emptyCache();
  const { free } = memoryInfo();
  await session.run({ x }, { outputs: { y } });
  synchronize();
  // ONNX Runtime would keep the memory of a copy for its next run.
  const taken = free - memoryInfo().free;
  ok(taken < largeBytes / 2, `${taken / MiB} MiB`);
  equal(flat(y.slice([8191, 8192], [8190, 8192])), [8, 8]);
});

modelTest('the stream of the session waits for the work on its inputs', async () => {
  const { sleep } = await peers();
  using producer = new Stream();
  using stream = new Stream();
  using session = await load(sum, { stream });
  using x = there();
  for (const value of [4, 5]) {
    synchronize();
    sleep(producer.handle);
    producer.use(() => x.fill(value));
    const outputs = value === 4 ? await session.run({ x }) : session.runSync({ x });
    using y = outputs.y as Tensor;
    equal(flat(y), Array(4).fill(2 * value));
  }
});

/** Doubles its input `count` times, each time in a kernel. */
function doubling(count: number): Uint8Array {
  const nodes: Node[] = Array.from({ length: count }, (_, i) => {
    const from = i === 0 ? 'x' : `t${i}`;
    return { op: 'Add', inputs: [from, from], outputs: [i === count - 1 ? 'y' : `t${i + 1}`] };
  });
  const matrix = { tensor: 1, shape: ['rows', 'columns'] };
  return makeGraph({ nodes, inputs: { x: matrix }, outputs: { y: matrix } });
}

modelTest('other streams wait for the kernels of a run, which ends when they are queued', async () => {
  using stream = new Stream();
  using other = new Stream();
  using session = await load(doubling(40), { stream });
  using x = Tensor.zeros(large, 'float32', onDevice);
  const corner = (tensor: Tensor) => flat(tensor.slice([8191, 8192], [8191, 8192]));
  for (const value of [1, 3]) {
    x.fill(value);
    using y = (await session.run({ x })).y as Tensor;
    equal(
      other.use(() => corner(y)),
      [value * 2 ** 40],
    );
  }
  using given = Tensor.zeros(large, 'float32', onDevice);
  session.runSync({ x }, { outputs: { y: given } });
  x.fill(0); // on another stream, after the kernels that read x
  equal(corner(given), [3 * 2 ** 40]);
});

modelTest('PyTorch waits for the kernels of a run', async () => {
  const { main, values } = await peers();
  using stream = new Stream();
  using session = await load(doubling(40), { stream });
  using x = Tensor.zeros(large, 'float32', onDevice);
  x.fill(1);
  using y = (await session.run({ x })).y as Tensor;
  // The copy is on PyTorch's stream, before anything waits for the device.
  const copied = main.torch
    .from_dlpack(y)
    .flatten()
    .narrow(0, 8192 * 8192 - 2, 2)
    .clone();
  equal(values(copied), [2 ** 40, 2 ** 40]);
});

modelTest('runs that are started together', async () => {
  using stream = new Stream();
  using session = await load(sum, { stream });
  const inputs = Array.from({ length: 20 }, (_, i) => {
    const x = there();
    x.fill(i);
    return x;
  });
  const outputs = await Promise.all(inputs.map(async (x) => (await session.run({ x })).y as Tensor));
  equal(
    outputs.map((y) => flat(y)[3]),
    inputs.map((_, i) => 2 * i),
  );
  for (const tensor of [...inputs, ...outputs]) tensor.dispose();
});

modelTest('the stream, an input and the session may be disposed before the output', async () => {
  const stream = new Stream();
  const session = await load(relu, { stream });
  stream.dispose();
  const x = there();
  const run = session.run({ x });
  x.dispose();
  const y = (await run).y as Tensor;
  await session[Symbol.asyncDispose]();
  equal(flat(y), positive);
  y.fill(6);
  equal(flat(y), [6, 6, 6, 6]);
  y.dispose();
  synchronize();
});
