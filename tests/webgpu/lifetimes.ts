/** The owner of a GPUBuffer, the GPUDevice of a tensor, and lost devices. */

import { DLPACK, DLPACK_DEVICE, fromDLPack, isDLPackError, type ManagedTensor, scope, Tensor } from 'dlpack';
import { emptyCache, leaks, liveCounts, setDebug } from 'dlpack/debug';
import { DeviceLostError, fromGPUBuffer, gpuMemoryOf } from 'dlpack/webgpu';
import * as copy from '../../src/index.js';
import { equal, notEqual, ok, rejects, throws } from '../assert.js';
import { collectUntil, testWith } from '../harness.js';
import { newDevice, noAdapter, type TestBuffer, type TestDevice, Usage, uncaptured } from './device.js';

const found = await newDevice('first');
const second = (await newDevice('second')) as TestDevice;
const missing = found === null ? noAdapter : false;
const device = found as TestDevice;
const usage = Usage.storage | Usage.copySource | Usage.copyTarget;

/** Counts how often each buffer of the device is destroyed. */
function counted(): { device: TestDevice; destroyed: () => number[] } {
  const counts: number[] = [];
  const proxy = new Proxy(device, {
    get: (target, name) => {
      const value: unknown = Reflect.get(target, name);
      if (name !== 'createBuffer') return typeof value === 'function' ? value.bind(target) : value;
      return (descriptor: { size: number; usage: number }) => {
        const buffer = target.createBuffer(descriptor);
        const index = counts.push(0) - 1;
        const destroy = buffer.destroy.bind(buffer);
        buffer.destroy = () => {
          counts[index] = (counts[index] as number) + 1;
          destroy();
        };
        return buffer;
      };
    },
  });
  return { device: proxy, destroyed: () => counts };
}

testWith(missing, 'our buffer is destroyed once, by the last owner', () => {
  const { device: counting, destroyed } = counted();
  const x = Tensor.empty([4], 'float32', { device: counting });
  const y = x.slice([1, 3]);
  const z = fromDLPack(y);
  x.dispose();
  y.dispose();
  equal(destroyed(), [0]);
  z.dispose();
  z.dispose();
  equal(destroyed(), [1]);
});

testWith(missing, 'a large buffer serves the next tensor of its size, with limits', () => {
  const { device: counting, destroyed } = counted();
  const make = (mebibytes: number) => Tensor.empty([mebibytes, 2 ** 20], 'uint8', { device: counting });
  const x = make(16);
  const { buffer } = gpuMemoryOf(x);
  x.dispose();
  equal(destroyed(), [0]);
  const other = make(8);
  const again = make(16);
  ok(gpuMemoryOf(again).buffer === buffer && gpuMemoryOf(other).buffer !== buffer);
  const more = [again, other, make(32), make(24)];
  for (const tensor of more) tensor.dispose();
  equal(destroyed(), [1, 0, 0, 0]); // 80 MiB would be too many, so the oldest is destroyed
  const { kept } = liveCounts();
  emptyCache(counting);
  emptyCache(counting);
  equal(kept - liveCounts().kept, 64 * 2 ** 20);
  equal(destroyed(), [1, 1, 1, 1]);
  throws('TypeError', 'device', () => emptyCache({} as TestDevice));
});

testWith(missing, 'temporary buffers of every kind of copy are destroyed once', async () => {
  const { device: counting, destroyed } = counted();
  const x = Tensor.from(new Uint8Array(15), { shape: [3, 5] }).to(counting);
  const turned = x.transpose();
  const kept = [x, turned.contiguous()];
  x.fill(1);
  scope(() => {
    x.slice(null, [1, 4]).copyFrom(Tensor.zeros([3, 3], 'uint8'));
    x.copyFrom(x.flip());
  });
  for (const t of [x, turned]) (await t.toAsync('cpu')).dispose();
  turned.dispose();
  ok(destroyed().length > 6, `${destroyed().length} buffers`);
  equal(destroyed().filter((count) => count === 0).length, kept.length);
  for (const t of kept) t.dispose();
  equal(
    destroyed().every((count) => count === 1),
    true,
    destroyed().join(),
  );
});

testWith(missing, 'a tensor that was never disposed is released by the collector', async () => {
  if (!('gc' in globalThis) && !('Bun' in globalThis)) return;
  const { device: counting, destroyed } = counted();
  const make = () => void Tensor.empty([4], 'float32', { device: counting });
  make();
  ok(await collectUntil(() => destroyed()[0] === 1));
});

testWith(missing, 'leak reports: counts of buffers and, in debug mode, names the line of each', () => {
  const before = liveCounts();
  setDebug(true);
  try {
    const here = () => leaks().filter(({ stack }) => /lifetimes\.[jt]s:\d+/.test(stack));
    const leaked = Tensor.empty([4, 4], 'float32', { device });
    const view = leaked.slice(1);
    const buffer = device.createBuffer({ size: 16, usage });
    const taken = fromGPUBuffer(buffer, { device, dtype: 'float32', shape: [4], release: () => buffer.destroy() });
    const after = liveCounts();
    equal([after.gpuBuffers - before.gpuBuffers, after.gpuBytes - before.gpuBytes], [2, 80]);
    equal(
      here().map(({ stack, device: name, ...rest }) => rest),
      [
        { kind: 'gpu-buffer', count: 1, bytes: 64, dtype: 'float32', shape: [4, 4] },
        { kind: 'gpu-buffer', count: 1, bytes: 16, dtype: 'float32', shape: [4] },
      ],
    );
    taken.dispose();
    leaked.dispose();
    equal(liveCounts().gpuBuffers - before.gpuBuffers, 1, 'the view still owns the memory');
    view.dispose();
    equal([liveCounts().gpuBuffers, liveCounts().gpuBytes, here()], [before.gpuBuffers, before.gpuBytes, []]);
  } finally {
    setDebug(false);
  }
});

testWith(missing, "a program's GPUBuffer is released by the given function, and kept without it", async () => {
  let released = 0;
  const buffer = device.createBuffer({ size: 32, usage });
  device.queue.writeBuffer(buffer, 0, Float32Array.of(1, 2, 3, 4, 5, 6));
  const described = { device, dtype: 'float32', shape: [2, 2], byteOffset: 8 } as const;
  const x = fromGPUBuffer(buffer, { ...described, release: () => released++ });
  const y = fromGPUBuffer(buffer, { ...described, strides: [1, 2], readonly: true });
  equal([x.isOn(device), x.byteOffset, y.isReadOnly], [true, 8, true]);
  equal((await y.toAsync('cpu')).toArray(), [[3, 5], [4, 6]]); // biome-ignore format: a table
  ok(gpuMemoryOf(x).buffer === buffer && gpuMemoryOf(x).device === device);
  throws('ReadOnlyError', '', () => y.fill(0));
  y.dispose();
  equal(released, 0);
  x.dispose();
  equal(released, 1);
  device.queue.writeBuffer(buffer, 0, Float32Array.of(7)); // not destroyed
  buffer.destroy();
});

testWith(missing, 'arguments that do not fit are refused before the buffer is taken over', () => {
  let released = 0;
  const buffer = device.createBuffer({ size: 16, usage });
  const release = () => released++;
  const options = { device, dtype: 'float32', shape: [5], release } as const;
  throws('LayoutError', '20 bytes', () => fromGPUBuffer(buffer, options));
  throws('LayoutError', 'multiple of 4', () => fromGPUBuffer(buffer, { ...options, shape: [1], byteOffset: 2 }));
  throws('TypeError', 'a GPUBuffer', () => fromGPUBuffer({} as TestBuffer, options));
  throws('TypeError', 'GPUDevice', () => fromGPUBuffer(buffer, { ...options, device: {} as TestDevice }));
  throws('TypeError', "did you mean 'byteOffset'", () => fromGPUBuffer(buffer, { ...options, byteOfset: 4 } as never));
  throws('TypeError', 'options', () => fromGPUBuffer(buffer, undefined as never));
  equal(released, 0);
  throws('UnsupportedDeviceError', 'x.to(gpuDevice)', () => gpuMemoryOf(Tensor.from([1])));
  throws('UnsupportedDeviceError', 'webgpu:99', () => Tensor.empty([1], 'float32', { device: 'webgpu:99' }));
  throws('TypeError', 'or a GPUDevice', () => Tensor.empty([1], 'float32', { device: {} as TestDevice }));
  buffer.destroy();
});

const managed = (gpuDevice: object, gpuBuffer: TestBuffer, id: number, deleter: () => void) => ({
  [DLPACK]: (): ManagedTensor => ({
    version: [1, 3],
    flags: 0,
    data: { gpuBuffer, gpuDevice },
    byteOffset: 0,
    shape: [4],
    strides: [1],
    dtype: { code: 2, bits: 32, lanes: 1 },
    device: { type: 15, id },
    deleter,
  }),
  [DLPACK_DEVICE]: () => ({ type: 15, id }),
});

testWith(missing, 'the number of a device follows its identity, whatever the producer sent', () => {
  let deleted = 0;
  const first = fromDLPack(managed(device, device.createBuffer({ size: 16, usage }), 7, () => deleted++));
  const other = fromDLPack(managed(second, second.createBuffer({ size: 16, usage }), 7, () => deleted++));
  equal(
    [first.device, first.isOn(device), first.isOn(second)],
    [Tensor.empty([1], 'int8', { device }).device, true, false],
  );
  ok(first.device !== other.device);
  equal(other[DLPACK_DEVICE]().id, Number(other.device.split(':')[1]));
  equal(fromDLPack(first, { device }).device, first.device);
  throws('BufferError', other.device, () =>
    fromDLPack(
      managed(device, device.createBuffer({ size: 16, usage }), 7, () => deleted++),
      { device: second },
    ),
  );
  equal(deleted, 1);
  first.dispose();
  other.dispose();
  equal(deleted, 2); // fromDLPack(first, { device }) still owns it
});

testWith(missing, 'two copies of the package number devices alike by identity and share the buffer', async () => {
  notEqual(copy.Tensor, Tensor);
  const x = Tensor.from([1, 2, 3, 4], { dtype: 'float32' }).to(second);
  const theirs = copy.fromDLPack(x, { device: second });
  equal(theirs.device, 'webgpu:0'); // the first device that this copy has seen
  const back = fromDLPack(theirs, { device: second });
  ok(gpuMemoryOf(back).buffer === gpuMemoryOf(x).buffer);
  x.fill(9);
  equal((await back.toAsync('cpu')).toArray(), [9, 9, 9, 9]);
  throws('BufferError', 'no stream', () => fromDLPack(x, { stream: 5n }));
});

testWith(
  missing,
  'a request names the GPUDevice: a host tensor is copied there, and a tensor elsewhere is refused',
  async () => {
    const host = Tensor.from([1, 2, 3, 4], { dtype: 'float32' });
    const there = fromDLPack(host, { device: second });
    equal([there.isOn(second), there.isCopied, (await there.toAsync('cpu')).toArray()], [true, true, [1, 2, 3, 4]]);
    const own = copy.fromDLPack(there, { device: second });
    equal(own.isCopied, false);
    throws('BufferError', 'stage: true', () => fromDLPack(there, { device }));
    throws('BufferError', 'without one', () => host[DLPACK]({ device: { type: 15, id: 0 } }));
    throws('BufferError', "without 'only'", () => there[DLPACK]({ native: 'only' }));
    for (const owned of [own, there, host]) owned.dispose();
  },
);

testWith(missing, 'another GPUDevice: the error names both, and stage copies through the host', async () => {
  const x = Tensor.from([[1, 2], [3, 4]], { dtype: 'float32' }).to(device); // biome-ignore format: a table
  const [from, to] = [x.device, Tensor.empty([1], 'int8', { device: second }).device];
  const error = throws('UnsupportedDeviceError', 'stage: true', () => x.to(second));
  for (const part of [from, to, 'first', 'second']) ok(error.message.includes(part), `${part} in ${error.message}`);
  await rejects('UnsupportedDeviceError', from, x.toAsync(second));
  const staged = await x.transpose().toAsync(second, { stage: true });
  equal(staged.device, to);
  x.fill(0);
  equal((await staged.toAsync('cpu')).toArray(), [[1, 3], [2, 4]]); // biome-ignore format: a table
  await rejects('TypeError', "did you mean 'stage'", x.toAsync(second, { staged: true } as never));
});

testWith(missing, 'a synchronous read names the asynchronous form', async () => {
  const x = Tensor.from([1.5, 2], { dtype: 'float32' }).to(device);
  throws('UnsupportedDeviceError', "await x.toAsync('cpu')", () => x.to('cpu'));
  throws('BufferError', "await x.toAsync('cpu')", () => fromDLPack(x, { device: 'cpu' }));
  for (const read of [() => x.data, () => x.get(0), () => x.toArray(), () => x.set(0, 1)]) {
    throws('UnsupportedDeviceError', "await x.toAsync('cpu')", read);
  }
  throws('UnsupportedDTypeError', "(await x.toAsync('cpu')).astype('int32')", () => x.astype('int32'));
  equal(String(x), `Tensor float32 [2] ${x.device}`);
  const printed: string[] = [];
  const { log } = console;
  console.log = (text: string) => printed.push(text);
  try {
    await x.print();
    await Tensor.from(Int32Array.from({ length: 3000 }, (_, i) => i))
      .to(device)
      .print();
  } finally {
    console.log = log;
  }
  equal(printed[0], `Tensor float32 [2] ${x.device}\n[1.5, 2. ]`);
  equal(printed[1], `Tensor int32 [3000] ${x.device}\n[   0,    1,    2, ..., 2997, 2998, 2999]`);
});

testWith(missing, 'errors of WebGPU reach the promise, and a mapped buffer is refused', async () => {
  const buffer = device.createBuffer({ size: 16, usage });
  const x = fromGPUBuffer(buffer, { device, dtype: 'float32', shape: [4] });
  buffer.destroy(); // by its owner, although this is forbidden
  const error = await rejects('ForeignError', x.device, x.toAsync('cpu'));
  ok(/destroyed/.test(error.message), error.message);
  const mapped = device.createBuffer({ size: 16, usage: Usage.mapRead | Usage.copyTarget });
  const y = fromGPUBuffer(mapped, { device, dtype: 'float32', shape: [4] });
  await mapped.mapAsync(1);
  throws('BufferError', 'unmap()', () => y.fill(1));
  throws('BufferError', 'unmap()', () => y[DLPACK]());
  mapped.destroy();
});

testWith(missing, 'a lost device gives a typed error, and disposing still works', async () => {
  const lost = (await newDevice('lost')) as TestDevice;
  const x = Tensor.from([1, 2], { dtype: 'float32' }).to(lost);
  const pending = x.toAsync('cpu');
  lost.destroy();
  const outcome = await pending.then(
    (t) => t.toArray(),
    // The copy may fail long before the loss is announced.
    (e: unknown) => isDLPackError(e, 'DeviceLostError') || isDLPackError(e, 'ForeignError'),
  );
  ok(outcome === true || JSON.stringify(outcome) === '[1,2]', String(outcome));
  await lost.lost;
  const error = await rejects('DeviceLostError', 'destroyed', x.toAsync('cpu'));
  ok(error instanceof DeviceLostError && error.reason === 'destroyed' && error.device === x.device);
  for (const action of [
    () => x.copy(),
    () => x.fill(1),
    () => x[DLPACK](),
    () => Tensor.empty([1], 'int8', { device: lost }),
  ]) {
    throws('DeviceLostError', x.device, action);
  }
  equal(String(x), `Tensor float32 [2] ${x.device}`);
  x.dispose();
});

testWith(missing, 'WebGPU reported no error', async () => {
  await device.queue.onSubmittedWorkDone();
  equal(uncaptured, []);
});
