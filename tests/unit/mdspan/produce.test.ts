import { DLPACK, DLPACK_DEVICE, fromDLPack, type ManagedTensor, type NativeExternal, Tensor } from 'dlpack';
import { liveCounts } from 'dlpack/debug';
import {
  deviceMdspan,
  elementTypes,
  extents,
  fullExtent,
  hostMdspan,
  layoutLeft,
  layoutStrideRelaxed,
  managedMdspan,
  setPointerDriver,
  submdspan,
} from 'dlpack/mdspan';
import { addressOf, exportManaged, importManaged } from 'dlpack/native';
import { equal, notEqual, ok, throws } from '../../assert.js';
import { test } from '../../harness.js';

test('fromDLPack shares the memory of a span', () => {
  const data = new Float32Array([0, 1, 2, 3, 4, 5]);
  using tensor = fromDLPack(hostMdspan(data, layoutLeft(extents(2, 3))));
  equal([tensor.shape, tensor.strides, tensor.dtype, tensor.device], [[2, 3], [1, 2], 'float32', 'cpu']);
  tensor.set(1, 2, 50);
  equal(data[5], 50);
  data[0] = 9;
  equal(tensor.get(0, 0), 9);
  equal(addressOf(tensor), addressOf(Tensor.wrap(data)));
});

test('a copy has another address, and writes do not reach the original', () => {
  const data = new Float32Array([1, 2]);
  const span = hostMdspan(data, extents(2));
  using copy = fromDLPack(span, { copy: true });
  notEqual(addressOf(copy), addressOf(Tensor.wrap(data)));
  copy.set(0, 10);
  equal(data[0], 1);
  ok(copy.isCopied);
});

test('relaxed strides, offsets and parts', () => {
  const data = new Float32Array([0, 1, 2, 3, 4, 5]);
  using reversed = fromDLPack(hostMdspan(data, layoutStrideRelaxed(extents(2, 3), [-3, -1], 5)));
  equal(reversed.toArray(), [
    [5, 4, 3],
    [2, 1, 0],
  ]);
  using repeated = fromDLPack(hostMdspan(data, layoutStrideRelaxed(extents(2, 3), [0, 1], 1)));
  equal(repeated.toArray(), [
    [1, 2, 3],
    [1, 2, 3],
  ]);
  using column = fromDLPack(submdspan(hostMdspan(data, extents(2, 3)), fullExtent, 1));
  equal(column.toArray(), [1, 4]);
  using scalar = fromDLPack(submdspan(hostMdspan(data, extents(2, 3)), 1, 1));
  equal(scalar.item(), 4);
  using empty = fromDLPack(hostMdspan(data, extents(3, 0)));
  equal([empty.shape, empty.size], [[3, 0], 0]);
});

test('a tensor under a span lives as long as the tensors made from the span', () => {
  const tensor = Tensor.from([1, 2, 3], { dtype: 'float32' });
  const shared = fromDLPack(hostMdspan(tensor));
  tensor.dispose();
  equal(shared.toArray(), [1, 2, 3]);
  shared.dispose();
});

test('nothing is left behind', () => {
  const tensor = Tensor.from([1, 2, 3], { dtype: 'float32' });
  const before = liveCounts();
  for (let i = 0; i < 10; i++) fromDLPack(hostMdspan(tensor)).dispose();
  equal(liveCounts(), before);
  tensor.dispose();
});

test('narrow elements with one byte each have the padded flag', () => {
  for (const dtype of elementTypes) {
    const span = hostMdspan(new ArrayBuffer(64), extents(2), { dtype });
    if (/^float6_.*x/.test(dtype)) {
      throws('BufferError', 'each lane in a byte', () => fromDLPack(span));
      continue;
    }
    const { flags } = span[DLPACK]() as ManagedTensor;
    equal(flags, /^float(6|4)_[^x]*$/.test(dtype) ? 4 : 0, dtype);
  }
});

test('padded elements keep their values on the other side', () => {
  const span = hostMdspan(new Uint8Array(3), extents(3), { dtype: 'float4_e2m1fn' });
  span.set(1, 1.5);
  span.set(2, -6);
  using tensor = fromDLPack(span);
  ok(tensor.isPadded);
  equal(tensor.toArray(), [0, 1.5, -6]);
  tensor.set(0, 0.5);
  equal(span.get(0), 0.5);
  equal([...hostMdspan(tensor)], [0.5, 1.5, -6], 'and back as a span');
});

test('every element type reads the same through a tensor', () => {
  for (const dtype of elementTypes) {
    if (/^float6_.*x/.test(dtype)) continue;
    const bytes = Uint8Array.from({ length: 64 }, (_, i) => (i * 37) % 61);
    const span = hostMdspan(bytes, extents(2), { dtype });
    using tensor = fromDLPack(span);
    equal(tensor.toArray(), [...span], dtype);
  }
});

test('device and managed spans become tensors of their device', () => {
  using cuda = fromDLPack(deviceMdspan(0x10000n, layoutLeft(extents(2, 3)), { dtype: 'float16', deviceId: 1 }));
  equal([cuda.device, cuda.shape, cuda.strides, cuda.dtype], ['cuda:1', [2, 3], [1, 2], 'float16']);
  equal(addressOf(cuda), 0x10000n);
  equal(deviceMdspan(0x10000n, extents(2), { dtype: 'int8', deviceId: 1 })[DLPACK_DEVICE](), { type: 2, id: 1 });
  const again = deviceMdspan(cuda);
  equal([again.dtype, [...again.strides], again[DLPACK_DEVICE]().id], ['float16', [1, 2], 1]);
  using memory = Tensor.from([1, 2], { dtype: 'float32' });
  const managed = managedMdspan(addressOf(memory), extents(2), { dtype: 'float32' });
  using shared = fromDLPack(managed);
  equal([shared.device, managed[DLPACK_DEVICE]()], ['cuda_managed', { type: 13, id: 0 }]);
  shared.set(0, 10);
  equal(memory.get(0), 10);
  const view = managedMdspan(shared);
  equal(view.get(0), 10);
});

test('the driver names the device of a producer', () => {
  const span = deviceMdspan(0x10000n, extents(2), { dtype: 'float32' });
  throws('UnsupportedDeviceError', 'device ordinal', () => span[DLPACK_DEVICE]());
  setPointerDriver({ deviceOrdinal: () => 2 });
  try {
    using tensor = fromDLPack(span);
    equal(tensor.device, 'cuda:2');
  } finally {
    setPointerDriver(null);
  }
});

test('requests are handled as by a tensor', () => {
  const span = hostMdspan(new Float32Array(2), extents(2));
  throws('BufferError', 'CUDA driver', () => fromDLPack(span, { device: 'cuda:0' }));
  throws('BufferError', 'at most 0.8', () => span[DLPACK]({ maxVersion: [0, 8] }));
  throws('BufferError', 'stream', () => fromDLPack(span, { stream: 1n }));
  equal(span[DLPACK_DEVICE](), { type: 1, id: 0 });
});

test('a type-tagged external for addons', () => {
  using memory = Tensor.from([1, 2, 3], { dtype: 'float32' });
  const external = hostMdspan(memory)[DLPACK]({ native: true });
  notEqual(typeof (external as ManagedTensor).version, 'object', 'not a plain object');
  using tensor = fromDLPack(external as NativeExternal);
  tensor.set(0, 10);
  equal(memory.get(0), 10);
});

test('through a native managed tensor, as Python and TVM-FFI see it', () => {
  using memory = Tensor.from(
    [
      [0, 1, 2],
      [3, 4, 5],
    ],
    { dtype: 'float32' },
  );
  using tensor = fromDLPack(submdspan(hostMdspan(memory, extents(2, 3)), fullExtent, [1, 3]));
  using native = importManaged(exportManaged(tensor, { copy: false }));
  equal(
    [native.shape, native.strides],
    [
      [2, 2],
      [3, 1],
    ],
  );
  native.set(1, 1, 50);
  equal(memory.get(1, 2), 50);
  const padded = Tensor.zeros([3], 'uint8');
  const narrow = hostMdspan(addressOf(padded), extents(3), { dtype: 'float6_e2m3fn' });
  using shown = fromDLPack(narrow);
  using back = importManaged(exportManaged(shown, { copy: false }));
  ok(back.isPadded, 'the flag crosses the border');
  padded.dispose();
});
