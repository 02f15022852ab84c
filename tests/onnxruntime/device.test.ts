/** Sessions with memory of a CUDA device, without one: on the fake driver, with a library that takes its memory for a device's. */

import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { isDLPackError, Tensor } from 'dlpack';
import { Stream } from 'dlpack/cuda';
import { liveCounts } from 'dlpack/debug';
import { addressOf } from 'dlpack/native';
import { loadRuntime, loadSession, type Session, type SessionOptions } from 'dlpack/onnxruntime';
import { equal, ok, rejects, throws } from '../assert.js';
import { fake, fakeDriverPath } from '../cuda/fake.js';
import { cudaTest } from '../cuda/machine.js';
import { testWith } from '../harness.js';
import { makeGraph, makeModel } from '../interop/libraries/model.js';
import { libraryPath } from './library.js';

const devicePath = fileURLToPath(new URL('../../native/onnxruntime_device.so', import.meta.url));
const missing = libraryPath === null || !existsSync(devicePath) ? 'onnxruntime-node or a C++ compiler' : false;
if (libraryPath !== null) {
  process.env.DEVICE_ONNXRUNTIME = libraryPath;
  process.env.DEVICE_CUDA = fakeDriverPath;
  process.env.DLPACK_ONNXRUNTIME = devicePath;
}
if (missing === false) loadRuntime(); // it keeps the contexts of both devices
const deviceTest = (name: string, body: () => Promise<void>) =>
  missing === false ? cudaTest(name, body) : testWith(missing, name, body);

const relu = makeModel('Relu', 1, 'float32');
const sum = makeModel('Add', 2, 'float32');
const split = makeGraph({
  nodes: [
    { op: 'Neg', inputs: ['x'], outputs: ['y'] },
    { op: 'SequenceConstruct', inputs: ['y'], outputs: ['list'] },
  ],
  inputs: { x: { tensor: 1, shape: ['n'] } },
  outputs: { x: { tensor: 1, shape: ['n'] }, y: { tensor: 1, shape: ['n'] }, list: { sequence: { tensor: 1 } } },
});

const load = (model: Uint8Array, options: SessionOptions = {}): Promise<Session> =>
  loadSession(model, { providers: ['cuda'], ...options });
const matrix = () =>
  Tensor.from(
    [
      [-1, 2],
      [3, -4],
    ],
    { dtype: 'float32' },
  );
const positive = [
  [0, 2],
  [3, 0],
];

deviceTest('an input on the device gives an output on the device, and no copy of either', async () => {
  using session = await load(relu);
  using host = matrix();
  using x = host.to('cuda:0');
  for (const outputs of [await session.run({ x }), session.runSync({ x })]) {
    using y = outputs.y as Tensor;
    equal([y.device, [...y.shape]], ['cuda:0', [2, 2]]);
    using back = y.to('cpu');
    equal(back.toArray(), positive);
  }
  // The session reads what is written after the first run, so its input is the memory of x.
  x.fill(5);
  using again = session.runSync({ x }).y as Tensor;
  using back = again.to('cpu');
  equal(back.toArray(), [
    [5, 5],
    [5, 5],
  ]);
});

deviceTest('`device` says where outputs go; without it, where the inputs are', async () => {
  using session = await load(relu);
  using host = matrix();
  using there = host.to('cuda:0');
  const placeOf = async (x: Tensor, device?: 'cpu' | 'cuda:0') => {
    using y = (await session.run({ x }, device === undefined ? {} : { device })).y as Tensor;
    using back = y.to('cpu');
    equal(back.toArray(), positive);
    return y.device;
  };
  equal(
    [
      await placeOf(host),
      await placeOf(there),
      await placeOf(host, 'cuda:0'),
      await placeOf(there, 'cpu'),
      await placeOf(there, 'cuda:0'),
    ],
    ['cpu', 'cuda:0', 'cuda:0', 'cpu', 'cuda:0'],
  );
  await rejects('UnsupportedDeviceError', "host memory or 'cuda:0'", session.run({ x: host }, { device: 'cuda:1' }));
});

deviceTest('a given tensor on the device is written in place', async () => {
  using session = await load(relu);
  using host = matrix();
  using x = host.to('cuda:0');
  using y = Tensor.zeros([2, 2], 'float32', { device: 'cuda:0' });
  const address = addressOf(y);
  equal((await session.run({ x }, { outputs: { y } })).y === y, true);
  equal(addressOf(y), address);
  using back = y.to('cpu');
  equal(back.toArray(), positive);
  throws('BufferError', 'overlaps', () => session.runSync({ x }, { outputs: { y: x } }));
});

deviceTest('outputs that cannot be on a device come to the host', async () => {
  using session = await load(split);
  using host = Tensor.from([1, 2], { dtype: 'float32' });
  using there = host.to('cuda:0');
  const outputs = (await session.run({ x: there })) as { x: Tensor; y: Tensor; list: Tensor[] };
  equal([outputs.x.device, outputs.y.device, outputs.list[0]?.device], ['cpu', 'cuda:0', 'cpu']);
  equal(outputs.list[0]?.toArray(), [-1, -2]);
  outputs.x.dispose();
  outputs.y.dispose();
  outputs.list[0]?.dispose();
});

deviceTest("the session's stream waits for the work on its inputs, and others wait for it", async () => {
  using producer = new Stream();
  using stream = new Stream();
  using session = await load(sum, { stream });
  using host = matrix();
  // Queued on another stream, and not run before something waits for it.
  using x = producer.use(() => host.to('cuda:0'));
  producer.use(() => x.fill(4));
  ok(fake.pending(producer.handle).length > 0, 'the work of the producer waits');
  using y = (await session.run({ x })).y as Tensor;
  using back = y.to('cpu'); // on the legacy stream, while the copy to y waits on that of the session
  equal(back.toArray(), [
    [8, 8],
    [8, 8],
  ]);
});

deviceTest('a session keeps its stream', async () => {
  const stream = new Stream();
  using session = await load(relu, { stream });
  stream.dispose();
  using host = matrix();
  using x = host.to('cuda:0');
  using y = (await session.run({ x })).y as Tensor;
  equal(y.device, 'cuda:0');
});

deviceTest('an input and an output may be disposed early, and the session before its outputs', async () => {
  const session = await load(relu);
  using host = matrix();
  const x = host.to('cuda:0');
  const run = session.run({ x });
  x.dispose();
  const { y } = (await run) as { y: Tensor };
  session.dispose();
  using back = y.to('cpu');
  equal(back.toArray(), positive);
  y.dispose();
});

deviceTest('dispose() does not wait for the library, which waits for the threads of the session', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'dlpack-onnx-'));
  const hold = join(folder, 'hold');
  try {
    writeFileSync(hold, '');
    const [idle, busy] = [await load(relu), await load(relu)];
    using x = matrix();
    process.env.DEVICE_HOLD = hold;
    idle.dispose();
    const run = busy.run({ x });
    busy.dispose(); // its run holds it
    ((await run).y as Tensor).dispose();
    equal(existsSync(`${hold}.done`), false);
    rmSync(hold);
    while (!existsSync(`${hold}.done`)) await new Promise((resolve) => setTimeout(resolve, 1));
  } finally {
    delete process.env.DEVICE_HOLD;
    rmSync(folder, { recursive: true });
  }
});

deviceTest('the provider gets its options and the stream', async () => {
  const told = async (options: SessionOptions) => {
    const error = await load(relu, options).catch((reason: Error) => reason);
    return (error as Error).message;
  };
  const provider = { name: 'cuda', options: { device_id: 1, use_tf32: false, tell: 1 } };
  const text = await told({ providers: [provider] });
  ok(text.endsWith('device_id=1 use_tf32=0 tell=1 user_compute_stream=1'), text);
  using stream = new Stream({ device: 'cuda:1' });
  const other = await told({ providers: [provider], stream });
  ok(other.endsWith(`user_compute_stream=${stream.handle}`), other);
});

deviceTest('what a session with a stream refuses', async () => {
  const own = { name: 'cuda', options: { user_compute_stream: '1' } };
  await rejects('ValueError', 'use the option stream', load(relu, { providers: [own] }));
  await rejects('ValueError', '1 with CUDA', load(relu, { concurrency: 2 }));
  await rejects('ValueError', 'that other threads can use', load(relu, { stream: Stream.perThread() }));
  await rejects('ValueError', "null without the provider 'cuda'", loadSession(relu, { stream: Stream.default() }));
  using wrong = new Stream({ device: 'cuda:1' });
  await rejects('ValueError', "a stream of 'cuda:0'", load(relu, { stream: wrong }));
  using host = matrix();
  using x = host.to('cuda:0');
  using plain = await loadSession(relu);
  throws('UnsupportedDeviceError', "providers: ['cuda']", () => plain.runSync({ x }));
  throws('UnsupportedDeviceError', "host memory for output 'y'", () =>
    plain.runSync({ x: host }, { outputs: { y: x } }),
  );
  using session = await load(relu);
  using far = host.to('cuda:1');
  throws('UnsupportedDeviceError', "host memory or 'cuda:0' for input 'x'", () => session.runSync({ x: far }));
  const run = session.run({ x });
  throws('BufferError', 'no run under way', () => session.runSync({ x }));
  ((await run).y as Tensor).dispose();
});

deviceTest('if the order of one output fails, the memory of all outputs is free at once', async () => {
  const two = makeGraph({
    nodes: [
      { op: 'Neg', inputs: ['x'], outputs: ['a'] },
      { op: 'Abs', inputs: ['x'], outputs: ['b'] },
      { op: 'Relu', inputs: ['x'], outputs: ['c'] },
    ],
    inputs: { x: { tensor: 1, shape: ['n'] } },
    outputs: { a: { tensor: 1, shape: ['n'] }, b: { tensor: 1, shape: ['n'] }, c: { tensor: 1, shape: ['n'] } },
  });
  using session = await load(two, { stream: new Stream() });
  using x = Tensor.from([1, -2], { dtype: 'float32' }).to('cuda:0');
  for (const output of Object.values(session.runSync({ x }))) (output as Tensor).dispose();
  const before = liveCounts();
  let failures = 0;
  for (let skip = 0; skip < 12; skip++) {
    fake.failNext('cuStreamWaitEvent', 801, skip);
    try {
      for (const output of Object.values(session.runSync({ x }))) (output as Tensor).dispose();
    } catch (error) {
      ok(isDLPackError(error, 'CudaError'), String(error));
      failures++;
    }
    const { imports, storages, bytes } = liveCounts();
    equal([imports, storages, bytes], [before.imports, before.storages, before.bytes], `call ${skip}`);
  }
  ok(failures >= 3, `${failures} runs failed`);
});
