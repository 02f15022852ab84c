/**
 * Memory for other processes. The fake driver opens memory that this process shared, at another address over the same bytes, when the
 * description names another process. So both sides work on the same bytes, and a missing order between them is a race.
 */

import { Worker } from 'node:worker_threads';
import { type Device, type DType, Tensor, type TensorView } from 'dlpack';
import { devices, fromCudaArrayInterface, pointerAttributes, Stream } from 'dlpack/cuda';
import { liveCounts } from 'dlpack/debug';
import { addressOf } from 'dlpack/native';
import { describeTensor, openTensor, type TensorDescription } from 'dlpack/shared';
import { equal, notEqual, ok, throws } from '../assert.js';
import { runChild } from '../child.js';
import { collectUntil } from '../harness.js';
import { captureMode, code, fake, fakeDriver, fakeDriverPath, made } from './fake.js';
import { cudaTest as machineTest, throwsCuda } from './machine.js';

/** Memory that is open elsewhere must not be left to the collector, so the tensors of a test live as long as it runs. */
const kept: Tensor[] = [];

function cudaTest(name: string, body: () => void | Promise<void>): void {
  machineTest(name, async () => {
    // Memory outside the pool is freed after its work, and the fake driver notices this only in a query.
    fake.configure({ queriesRun: true });
    await body();
    for (const tensor of kept.splice(0)) tensor.dispose();
  });
}

const share = (tensor: TensorView): TensorDescription => describeTensor(tensor);

function emptyShareable<D extends DType>(
  shape: number[],
  dtype: D,
  { device = 'cuda:0' }: { device?: Device } = {},
): Tensor<D> {
  return Tensor.empty(shape, dtype, { device, shareable: true });
}

const empty: typeof emptyShareable = (...args) => {
  const tensor = emptyShareable(...args);
  kept.push(tensor);
  return tensor;
};

/** A description as another process gets it. */
const sent = (shared: TensorDescription): TensorDescription => ({
  ...(JSON.parse(JSON.stringify(shared)) as TensorDescription),
  process: '00000000000000ff',
});
const open = (tensor: Tensor, stream?: Stream): Tensor =>
  openTensor(sent(share(tensor)), stream === undefined ? {} : { stream });

function shareable(values: number[], device: 'cuda:0' | 'cuda:1' = 'cuda:0'): Tensor<'float32'> {
  const x = empty([values.length], 'float32', { device });
  x.copyFrom(Tensor.from(values, { dtype: 'float32' }));
  return x;
}

const live = (): number => fake.live().mapped;
const opened = (): number => fake.calls('cuIpcOpenMemHandle_v2');
const closed = (): number => fake.calls('cuIpcCloseMemHandle');

cudaTest('shareable memory is made of whole pages outside the pool', () => {
  const before = fake.live();
  const x = empty([3, 5], 'float32', { device: 'cuda:1' });
  equal([x.device, x.shape, x.dtype, x.nbytes, x.isContiguous], ['cuda:1', [3, 5], 'float32', 60, true]);
  equal(fake.live().deviceBytes - before.deviceBytes, 2 ** 21);
  equal(fake.live().poolBytes, before.poolBytes);
  x.fill(2);
  equal(x.to('cpu').get(2, 4), 2);
  x.dispose();
  equal(fake.live().device, before.device);
  equal(emptyShareable([2 ** 21 + 1], 'int8').nbytes, 2 ** 21 + 1);
  equal(fake.live().deviceBytes - before.deviceBytes, 2 ** 22);
  throws('ValueError', 'cuda:0', () => emptyShareable([1], 'int8', { device: 'cuda_host' }));
  throws('ValueError', 'shape', () => emptyShareable([-1], 'int8'));
  throwsCuda('CUDA_ERROR_OUT_OF_MEMORY', () => emptyShareable([2 ** 40], 'int8'));
});

cudaTest('the description has plain values that can be sent through any channel', () => {
  const x = empty([2, 3], 'int16', { device: 'cuda:1' });
  const shared = share(x.transpose());
  equal(structuredClone(shared), shared);
  equal(JSON.parse(JSON.stringify(shared)), shared);
  const { memory, event, process: owner, ...rest } = shared;
  ok(/^[0-9a-f]{128}$/.test(memory ?? '') && /^[0-9a-f]{128}$/.test(event ?? '') && memory !== event);
  ok(/^[0-9a-f]{16}$/.test(owner));
  equal(rest, {
    version: 1,
    kind: 'cuda',
    device: devices()[1]?.uuid,
    size: 2 ** 21,
    bitOffset: 0,
    dtype: 'int16',
    shape: [3, 2],
    strides: [1, 3],
    readonly: false,
    padded: false,
  } as never);
});

cudaTest("each side sees the other's writes", () => {
  const x = shareable([1, 2, 3, 4, 5, 6]);
  const y = open(x);
  equal([y.device, y.dtype, y.shape, y.isReadOnly], ['cuda:0', 'float32', [6], false]);
  notEqual(addressOf(y), addressOf(x));
  equal(y.to('cpu').toArray(), [1, 2, 3, 4, 5, 6]);
  const part = y.slice([0, 2]);
  part.fill(9);
  part.dispose();
  equal(x.to('cpu').toArray(), [9, 9, 3, 4, 5, 6]);
  x.fill(8);
  equal(y.to('cpu').toArray(), [8, 8, 8, 8, 8, 8]);
  y.dispose();
  x.dispose();
});

cudaTest('views: offsets, steps, reversed axes, broadcasts, read-only and sub-byte elements', () => {
  const x = shareable(Array.from({ length: 24 }, (_, i) => i)).reshape([2, 3, 4]);
  const views = [
    x.slice(1),
    x.slice(null, [0, 3, 2]),
    x.flip(),
    x.transpose(),
    x.slice(0, 0, 0),
    x.slice(1, 2, [3, 4]).broadcastTo([5, 1]),
  ];
  for (const view of views) {
    const y = openTensor(sent(share(view)));
    equal(y.to('cpu').toArray(), view.to('cpu').toArray());
    equal(share(y).bitOffset, share(view).bitOffset);
    y.dispose();
  }
  const fixed = openTensor({ ...sent(share(x)), readonly: true });
  throws('ReadOnlyError', 'read-only', () => fixed.fill(1));
  fixed.dispose();
  const nibbles = empty([8], 'int4');
  nibbles.copyFrom(Tensor.from([1, -2, 3, -4, 5, -6, 7, -8], { dtype: 'int4' }));
  const half = openTensor(sent(share(nibbles.slice([3, 6]))));
  equal(half.to('cpu').toArray(), [-4, 5, -6]);
  half.dispose();
});

cudaTest('a tensor without elements is shared, too', () => {
  for (const empty of [emptyShareable([0, 3], 'float32'), Tensor.empty([0, 3], 'float32', { device: 'cuda:0' })]) {
    const shared = share(empty);
    equal([shared.memory, shared.event, shared.size], [null, null, 0]);
    const y = openTensor(JSON.parse(JSON.stringify(shared)));
    equal([y.device, y.shape], ['cuda:0', [0, 3]]);
    y.dispose();
  }
  equal(opened(), 0);
});

cudaTest('the test itself: without an event, the two sides race', () => {
  const x = empty([4], 'float32');
  const [ours, theirs] = [new Stream(), new Stream()];
  ours.use(() => x.fill(6));
  const shared = describeTensor(x, { sync: false });
  equal(shared.event, null);
  const y = openTensor(sent(shared), { stream: theirs });
  theirs.use(() => y.copy().dispose());
  ok(fake.errors().some((line) => line.startsWith('race:')));
  fake.reset();
  y.dispose();
});

cudaTest("the opener's stream waits for the work that was queued at the time of sharing, and no thread waits", () => {
  const x = empty([4], 'float32');
  const [ours, theirs, third] = [new Stream(), new Stream(), new Stream()];
  fake.delay(ours.handle);
  ours.use(() => x.fill(6));
  const y = open(x, theirs);
  // First on a stream without a wait, then on the stream that waits.
  const copies = [third, theirs].map((stream) => stream.use(() => y.copy()));
  fake.runAll();
  for (const stream of [theirs, third]) ok(fake.pending(stream.handle).length > 0, 'nothing ran ahead');
  fake.release(ours.handle);
  for (const copy of copies) equal(copy.to('cpu').toArray(), [6, 6, 6, 6]);
  y.dispose();
});

cudaTest('the stream that waits is a Stream, its number, or null for the current stream', () => {
  const x = empty([4], 'float32');
  const [ours, theirs] = [new Stream(), new Stream()];
  for (const [stream, waiting] of [
    [theirs, theirs],
    [theirs.handle, theirs],
    [1n, Stream.default()],
    [null, Stream.current()],
  ] as const) {
    fake.delay(ours.handle);
    ours.use(() => x.fill(6));
    const y = openTensor(sent(share(x)), { stream });
    const copy = waiting.use(() => y.copy());
    fake.runAll();
    ok(fake.pending(waiting.handle).length > 0, 'it waits');
    fake.release(ours.handle);
    equal(copy.to('cpu').toArray(), [6, 6, 6, 6]);
    copy.dispose();
    y.dispose();
  }
});

cudaTest('sharing again records the same event later, so it covers all earlier work', () => {
  const x = empty([4], 'float32');
  const [first, second, theirs] = [new Stream(), new Stream(), new Stream()];
  const part = x.slice([0, 2]);
  const events = fake.live().events;
  const early = first.use(() => {
    x.fill(1);
    return share(x);
  });
  const late = second.use(() => {
    x.fill(2);
    return share(part);
  });
  equal(late.event, early.event);
  equal(fake.live().events, events + 1);
  const y = openTensor(sent(early), { stream: theirs });
  equal(
    theirs.use(() => y.to('cpu').toArray()),
    [2, 2, 2, 2],
  );
  y.dispose();
  x.dispose();
  equal(fake.live().events, events + 1);
  part.dispose();
  equal(fake.live().events, events);
});

cudaTest('memory that is opened several times is mapped once and closed by the last owner', () => {
  const x = shareable([1, 2, 3, 4]);
  const part = x.slice([2, 4]);
  const tensors = [open(x), open(x), open(part)];
  equal([opened(), live()], [1, 1]);
  equal(addressOf(tensors[1] as Tensor), addressOf(tensors[0] as Tensor));
  equal(addressOf(tensors[2] as Tensor), addressOf(tensors[0] as Tensor) + 8n);
  const view = tensors[0]?.slice([1, 2]) as Tensor;
  for (const tensor of tensors) tensor.dispose();
  equal([closed(), view.to('cpu').toArray()], [0, [2]]);
  view.dispose();
  view.dispose();
  equal([closed(), live()], [1, 0]);
  const again = open(x);
  equal([opened(), again.to('cpu').toArray()], [2, [1, 2, 3, 4]]);
  again.dispose();
  equal(closed(), 2);
});

cudaTest('the memory is closed after the work on it has finished, and no thread waits for that', async () => {
  const x = shareable([1, 2, 3, 4]);
  const y = open(x);
  const stream = new Stream();
  fake.delay(stream.handle);
  stream.use(() => y.fill(3));
  y.dispose();
  equal([live(), closed()], [1, 0]);
  fake.release(stream.handle);
  fake.runAll();
  ok(await collectUntil(() => live() === 0));
  equal([closed(), x.to('cpu').toArray()], [1, [3, 3, 3, 3]]);
});

cudaTest('the collector closes memory that was never disposed', async () => {
  const x = shareable([1]);
  (() => void open(x))();
  ok(await collectUntil(() => live() === 0));
  equal(closed(), 1);
});

async function startWorker(shared: TensorDescription, rounds: number): Promise<[worker: Worker, values: unknown]> {
  const workerData = { path: fakeDriverPath, shared, rounds };
  const worker = new Worker(new URL('./children/ipc-worker.js', import.meta.url), { workerData });
  const values = await new Promise((resolve, reject) => {
    worker.on('message', resolve);
    worker.on('error', reject);
  });
  return [worker, values];
}

cudaTest('a worker that ends closes the memory that it had opened', async () => {
  const x = shareable([5, 6]);
  const shared = sent(share(x));
  const y = openTensor(shared);
  const [worker, values] = await startWorker(shared, 0);
  equal([values, opened()], [[5, 6], 1]);
  y.dispose();
  equal(live(), 1);
  await worker.terminate();
  ok(await collectUntil(() => live() === 0));
  equal(closed(), 1);
});

cudaTest('threads that open and close at the same time map once and close once', async () => {
  const x = shareable([5, 6]);
  const shared = { ...sent(share(x)), event: null };
  const starting = [1, 2].map(() => startWorker(shared, 500));
  let rounds = 0;
  let isOver = false;
  const ended = Promise.all(starting).finally(() => {
    isOver = true;
  });
  while (!isOver) {
    for (let i = 0; i < 50; i++) openTensor(shared).dispose();
    rounds++;
    await new Promise((resolve) => setImmediate(resolve));
  }
  for (const [worker, values] of await ended) {
    equal(values, [5, 6]);
    await worker.terminate();
  }
  ok(rounds > 0 && (await collectUntil(() => live() === 0)));
  equal(closed(), opened());
});

cudaTest('another process reports memory that it cannot open, and exits with shared memory open', () => {
  const x = shareable([1]);
  const args = [JSON.stringify(share(x))];
  const { code: status, signal, output } = runChild(import.meta.url, './children/ipc-exit.js', { args });
  equal([status, signal], [0, null], output);
  ok(output.includes('refused with CUDA_ERROR_MAP_FAILED'), output);
  ok(output.includes('leaving with 2 imports'), output);
});

cudaTest("opened memory can be shared again with its maker's memory handle and our event", () => {
  const x = shareable([1, 2, 3, 4]);
  const first = sent(share(x));
  const y = openTensor(first);
  const part = y.slice([1, 3]);
  const onward = share(part);
  equal([onward.memory, onward.process, onward.size], [first.memory, first.process, first.size]);
  notEqual(onward.event, first.event);
  equal([onward.bitOffset, onward.shape], [32, [2]]);
  const z = openTensor(onward);
  equal([z.to('cpu').toArray(), opened()], [[2, 3], 1]);
  z.dispose();
  part.dispose();
  y.dispose();
});

cudaTest('memory of another library in this process is shared with the allocation around it', () => {
  const start = made(fakeDriver, 'cuMemAlloc_v2', 4096);
  const lent = fromCudaArrayInterface({ shape: [4], typestr: '<f4', data: [start + 256n, false], version: 3 });
  lent.fill(4);
  const shared = share(lent);
  equal([shared.size, shared.bitOffset], [4096, 2048]);
  const y = openTensor(sent(shared));
  equal(y.to('cpu').toArray(), [4, 4, 4, 4]);
  equal(pointerAttributes(addressOf(y))?.rangeStart, addressOf(y) - 256n);
  y.dispose();
  lent.dispose();
  fakeDriver.must('cuMemFree_v2', start);
});

cudaTest('the error for memory that cannot be shared suggests what to do', () => {
  const pooled = Tensor.zeros([4], 'float32', { device: 'cuda:0' });
  throws('BufferError', 'shareable: true }).copyFrom(x)', () => share(pooled));
  for (const device of ['cuda_host', 'cuda_managed'] as const) {
    throws('UnsupportedDeviceError', 'shareable: true', () => share(Tensor.zeros([4], 'float32', { device })));
  }
  throws('TypeError', 'a Tensor', () => share({} as never));
  throws('TypeError', 'sync', () => describeTensor(pooled, { sync: 1 as never }));
  const x = shareable([1]);
  x.dispose();
  throws('DisposedError', 'released', () => share(x));
  pooled.dispose();
});

cudaTest('memory of this process cannot be opened in the same process', () => {
  const x = shareable([1]);
  throws('BufferError', 'shareTensor(x)', () => openTensor(share(x)));
  equal(opened(), 0);
});

cudaTest('the device is found by its UUID, whatever its number', () => {
  const [first, second] = devices();
  ok(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(first?.uuid ?? '') && first?.uuid !== second?.uuid);
  const x = shareable([7], 'cuda:1');
  const shared = sent(share(x));
  const there = openTensor(shared);
  equal(there.device, 'cuda:1');
  there.dispose();
  try {
    // As with CUDA_VISIBLE_DEVICES=1,0
    fake.setUuid(0, 1);
    fake.setUuid(1, 0);
    const y = openTensor(sent({ ...shared, event: null }));
    equal([y.device, y.to('cpu').toArray()], ['cuda:0', [7]]);
    y.dispose();
    fake.setUuid(0, 5);
    const error = throws('UnsupportedDeviceError', 'CUDA_VISIBLE_DEVICES', () => openTensor(shared));
    ok(String(error).includes(shared.device));
  } finally {
    fake.setUuid(0, 0);
    fake.setUuid(1, 1);
  }
});

cudaTest('malformed descriptions are refused before the driver is called', () => {
  const x = shareable([1, 2, 3, 4]);
  const good = sent(share(x));
  const wrong: readonly [field: string, value: unknown, tag: Parameters<typeof throws>[0], text: string][] = [
    ['version', 2, 'ValueError', 'version'],
    ['version', undefined, 'ValueError', 'version'],
    ['kind', undefined, 'TypeError', 'kind'],
    ['kind', 'cpu', 'ValueError', 'the handle of shared host memory'],
    ['kind', 'rocm', 'UnsupportedDeviceError', 'cannot be shared with another process'],
    ['device', 0, 'TypeError', 'device'],
    ['device', 'cuda:0', 'ValueError', 'UUID'],
    ['process', 12, 'TypeError', 'process'],
    ['process', 'me', 'ValueError', '16 hexadecimal digits'],
    ['memory', new Uint8Array(64), 'TypeError', 'memory'],
    ['memory', good.memory?.slice(2), 'ValueError', '128 hexadecimal digits'],
    ['memory', `${good.memory?.slice(2)}zz`, 'ValueError', '128 hexadecimal digits'],
    ['memory', null, 'ValueError', 'memory'],
    ['event', 1, 'TypeError', 'event'],
    ['event', '', 'ValueError', 'event'],
    ['size', '64', 'TypeError', 'size'],
    ['size', -1, 'ValueError', 'size'],
    ['size', 8, 'LayoutError', 'of 8 bytes'],
    ['bitOffset', 1.5, 'ValueError', 'bitOffset'],
    ['bitOffset', null, 'TypeError', 'bitOffset'],
    ['bitOffset', 8, 'LayoutError', 'a multiple of 32 bits'],
    ['bitOffset', 2 ** 24, 'LayoutError', 'inside the shared allocation'],
    ['dtype', 7, 'TypeError', 'dtype'],
    ['dtype', 'float99', 'UnsupportedDTypeError', 'float99'],
    ['shape', 4, 'TypeError', 'shape'],
    ['shape', [4, 'a'], 'TypeError', 'shape'],
    ['shape', [-4], 'ValueError', 'shape'],
    ['shape', [2 ** 30], 'LayoutError', 'inside the shared allocation'],
    ['strides', null, 'TypeError', 'strides'],
    ['strides', [], 'LayoutError', 'strides'],
    ['strides', [-1], 'LayoutError', 'inside the shared allocation'],
    ['strides', [2 ** 52], 'LayoutError', ''],
    ['readonly', 0, 'TypeError', 'readonly'],
    ['padded', 'no', 'TypeError', 'padded'],
  ];
  for (const [field, value, tag, text] of wrong) {
    throws(tag, text, () => openTensor({ ...good, [field]: value } as never));
  }
  for (const value of [null, undefined, 'x', 5]) throws('TypeError', 'shareTensor()', () => openTensor(value as never));
  throws('ValueError', 'version', () => openTensor([] as never));
  for (const value of [null, 'cuda:1', 5, true, []]) {
    throws('TypeError', 'for options', () => openTensor(good, value as never));
    throws('TypeError', 'for options', () => describeTensor(x, value as never));
  }
  equal(opened(), 0);
  const stream = new Stream({ device: 'cuda:1' });
  throws('ValueError', "a stream of 'cuda:0'", () => openTensor(good, { stream }));
  throws('ValueError', 'a stream to wait on', () => openTensor(good, { stream: -1n }));
  for (const value of [1, {}, 'cuda:0'])
    throws('TypeError', 'a Stream of dlpack/cuda, a bigint or null', () =>
      openTensor(good, { stream: value as never }),
    );
  stream.dispose();
  throws('DisposedError', 'disposed', () => openTensor(good, { stream }));
  equal(live(), 0);
});

cudaTest("the driver's size is used, or the size in the description if the driver reports none", () => {
  const x = shareable([1, 2, 3, 4]);
  const large = { ...sent(share(x)), size: 2 ** 30 };
  const beyond = { ...large, bitOffset: 2 ** 21 * 8 - 64 };
  const past = { ...large, bitOffset: 2 ** 22 * 8 };
  for (const shared of [beyond, past]) {
    throws('LayoutError', 'inside the shared allocation', () => openTensor(shared));
    equal(live(), 0);
  }
  const y = open(x);
  throws('LayoutError', 'inside the shared allocation', () => openTensor(beyond));
  equal(live(), 1);
  y.dispose();
  const shared = sent(share(x));
  fake.failNext('cuPointerGetAttributes', code.invalidValue);
  const z = openTensor(shared);
  equal(z.to('cpu').toArray(), [1, 2, 3, 4]);
  z.dispose();
});

cudaTest('every call of the driver may fail', () => {
  const x = shareable([1, 2, 3, 4]);
  const shared = sent(share(x));
  const failing = (symbol: string, action: () => unknown, skip = 0): void => {
    fake.failNext(symbol, code.notSupported, skip);
    throwsCuda('CUDA_ERROR_NOT_SUPPORTED', action);
    equal(live(), 0, symbol);
  };
  failing('cuMemAlloc_v2', () => emptyShareable([1], 'int8'));
  failing('cuDeviceGetUuid_v2', () => devices());
  failing('cuDeviceGetUuid_v2', () => share(x));
  failing('cuPointerGetAttributes', () => share(x));
  failing('cuPointerGetAttributes', () => share(x), 1);
  failing('cuIpcGetMemHandle', () => share(x));
  failing('cuIpcGetEventHandle', () => share(x));
  failing('cuEventRecord', () => share(x));
  const other = empty([1], 'int8');
  failing('cuEventCreate', () => share(other));
  failing('cuIpcOpenMemHandle_v2', () => openTensor(shared));
  failing('cuPointerGetAttributes', () => openTensor(shared));
  failing('cuIpcOpenEventHandle', () => openTensor(shared));
  failing('cuStreamWaitEvent', () => openTensor(shared));
  const y = openTensor(shared);
  equal(y.to('cpu').toArray(), [1, 2, 3, 4]);
  y.dispose();
});

cudaTest('memory that its maker released is refused', () => {
  const x = shareable([1]);
  const shared = sent(share(x));
  const y = openTensor(shared);
  throwsCuda('CUDA_ERROR_MAP_FAILED', () => openTensor({ ...shared, event: shared.memory }));
  y.dispose();
  x.dispose();
  throwsCuda('CUDA_ERROR_MAP_FAILED', () => openTensor(shared));
});

cudaTest('while a stream is captured into a graph', () => {
  const x = shareable([1, 2]);
  const shared = sent(share(x));
  const stream = new Stream();
  fake.beginCapture(stream.handle, captureMode.global);
  // Sharing, opening and closing do not break the capture, and the captured stream gets no wait for work outside it.
  const z = emptyShareable([1], 'int8');
  equal(describeTensor(z, { sync: false }).event, null);
  z.dispose();
  stream.use(() => {
    const y = openTensor(shared);
    y.dispose();
    throws('BufferError', 'captured into a graph', () => share(x));
  });
  equal(fake.endCapture(stream.handle), { code: 0, operations: [] });
});

cudaTest('beyond a thousand events, sharing waits for the work instead', () => {
  const tensors: Tensor[] = [];
  for (let i = 0; i < 1000; i++) {
    const x = empty([1], 'int8');
    notEqual(share(x).event, null);
    tensors.push(x);
  }
  const x = empty([4], 'int8');
  const stream = new Stream();
  const shared = stream.use(() => {
    x.fill(3);
    return share(x);
  });
  equal([shared.event, fake.pending(stream.handle)], [null, []]);
  for (const tensor of tensors) tensor.dispose();
  notEqual(share(x).event, null);
  x.dispose();
});

cudaTest('open memory counts as an import', () => {
  const x = shareable([1]);
  const { imports, storages } = liveCounts();
  const y = open(x);
  equal([liveCounts().imports - imports, liveCounts().storages], [1, storages]);
  y.dispose();
  equal(liveCounts().imports, imports);
});
