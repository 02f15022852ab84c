import { Tensor } from 'dlpack';
import {
  type DLTensorFields,
  type ElementType,
  extents,
  hostMdspan,
  type LayoutPolicy,
  layoutLeft,
  layoutRight,
  layoutStride,
  layoutStrideRelaxed,
  toDeviceMdspan,
  toDLPackTensor,
  toHostMdspan,
  toManagedMdspan,
} from 'dlpack/mdspan';
import { addressOf } from 'dlpack/native';
import { equal, ok, throws } from '../../assert.js';
import { collect, test } from '../../harness.js';

const memory = Tensor.from([0, 1, 2, 3, 4, 5, 6, 7], { dtype: 'float32' });
const base = addressOf(memory);

const tensor: DLTensorFields = {
  data: base,
  device: { type: 1, id: 0 },
  ndim: 2,
  dtype: { code: 2, bits: 32, lanes: 1 },
  shape: new BigInt64Array([2n, 3n]),
  strides: new BigInt64Array([3n, 1n]),
  byteOffset: 0,
};
const convert = (changes: Partial<DLTensorFields>, layout?: LayoutPolicy) =>
  toHostMdspan({ ...tensor, ...changes }, { dtype: 'float32', rank: 2, ...(layout === undefined ? {} : { layout }) });

test('the span is over the memory of the DLTensor', () => {
  const span = convert({});
  equal([...span], [0, 1, 2, 3, 4, 5]);
  span.set(1, 2, 50);
  equal(memory.get(5), 50);
  memory.set(5, 5);
  equal(span.get(1, 2), 5);
  equal([span.dtype, span.extents.rankDynamic, span.extents.indexType], ['float32', 2, 'int64']);
});

test('each layout', () => {
  for (const layout of [layoutRight, layoutStride, layoutStrideRelaxed]) {
    const span = convert({}, layout);
    equal([...span], [0, 1, 2, 3, 4, 5]);
    equal((span.mapping as { layout: string }).layout, layout.name);
  }
  const left = convert({ strides: [1, 2] }, layoutLeft);
  equal([...left], [0, 2, 4, 1, 3, 5]);
  equal((convert({}).mapping as { layout: string }).layout, 'layoutStrideRelaxed', 'the default');
});

test('byte_offset moves the pointer, or becomes an offset of the relaxed layout', () => {
  const right = convert({ byteOffset: 8 }, layoutRight);
  equal([right.get(0, 0), right.dataHandle.address], [2, base + 8n]);
  const relaxed = convert({ byteOffset: 8n });
  equal([relaxed.get(0, 0), relaxed.dataHandle.address], [2, base]);
  equal((relaxed.mapping as { offset: number }).offset, 2);
});

test('relaxed: zero and negative strides', () => {
  equal([...convert({ strides: [0, 1] })], [0, 1, 2, 0, 1, 2]);
  equal([...convert({ strides: [-3, -1], byteOffset: 20 })], [5, 4, 3, 2, 1, 0]);
  // As in NumPy: data is the first element, and the others have lower addresses.
  const below = convert({ data: base + 20n, strides: [-3, -1] });
  equal([...below], [5, 4, 3, 2, 1, 0]);
  equal((below.mapping as { offset: number }).offset, 5);
  equal(convert({ data: base + 16n, strides: [-3, -1], byteOffset: 4 }).get(1, 2), 0);
});

test('rank 0', () => {
  const scalar: DLTensorFields = { ...tensor, ndim: 0, shape: null, strides: null, byteOffset: 12 };
  for (const layout of [layoutRight, layoutLeft, layoutStride, layoutStrideRelaxed]) {
    equal(toHostMdspan(scalar, { dtype: 'float32', rank: 0, layout }).get(), 3);
  }
});

test('device types', () => {
  const options = { dtype: 'float32', rank: 2 } as const;
  const on = (type: number): DLTensorFields => ({ ...tensor, device: { type, id: 4 } });
  for (const type of [2, 3, 13, 99]) {
    throws('UnsupportedDeviceError', 'kDLCPU for hostMdspan', () => toHostMdspan(on(type), options));
  }
  for (const type of [1, 3, 13]) {
    throws('UnsupportedDeviceError', 'kDLCUDA for deviceMdspan', () => toDeviceMdspan(on(type), options));
  }
  for (const type of [1, 2, 3]) {
    throws('UnsupportedDeviceError', 'kDLCUDAManaged for managedMdspan', () => toManagedMdspan(on(type), options));
  }
  const device = toDeviceMdspan(on(2), options);
  equal([device.kind, [...device.shape]], ['device', [2, 3]]);
  using again = toDLPackTensor(device);
  equal(again.get().device, { type: 2, id: 4 }, 'the device id comes back without a driver');
  const managed = toManagedMdspan({ ...tensor, device: { type: 13, id: 0 } }, options);
  equal(managed.get(0, 1), 1);
});

test('rank and dtype must be the expected ones', () => {
  throws('ValueError', 'rank does not match expected rank', () => toHostMdspan(tensor, { dtype: 'float32', rank: 3 }));
  for (const dtype of [
    { code: 0, bits: 32, lanes: 1 },
    { code: 2, bits: 64, lanes: 1 },
    { code: 2, bits: 32, lanes: 2 },
  ]) {
    throws('UnsupportedDTypeError', 'does not match expected type', () => convert({ dtype }));
  }
});

test('data must be present and aligned', () => {
  throws('TypeError', 'data must be non-null', () => convert({ data: null }));
  throws('TypeError', 'data must be non-null', () => convert({ data: 0n }));
  throws('BufferError', 'must be aligned to the data type', () => convert({ data: base + 2n }));
  throws('BufferError', 'must be aligned to the data type', () => convert({ byteOffset: 2 }, layoutRight));
  throws('ValueError', 'byte_offset must be a multiple of element size', () => convert({ byteOffset: 2 }));
  throws('ValueError', 'zero or more', () => convert({ byteOffset: -4 }));
  const pairs: DLTensorFields = { ...tensor, data: base + 4n, dtype: { code: 2, bits: 32, lanes: 4 } };
  throws('BufferError', 'multiple of 16 bytes', () => toHostMdspan(pairs, { dtype: 'float32x4', rank: 2 }));
});

test('shape must be present, not negative, and small enough', () => {
  throws('TypeError', 'shape must be non-null', () => convert({ shape: null }));
  throws('ValueError', 'shapes must be positive', () => convert({ shape: [2, -3] }));
  throws('LayoutError', 'shape overflow', () => convert({ shape: [2 ** 40, 2 ** 40] }));
  throws('ValueError', 'shape[0]', () => convert({ shape: [2n ** 63n, 1n] }));
  throws('TypeError', '2 integers', () => convert({ shape: [2] }));
});

test('strides must be present and fit the layout', () => {
  for (const layout of [layoutRight, layoutLeft, layoutStride, layoutStrideRelaxed]) {
    throws('TypeError', 'strides=nullptr is not supported for DLPack v1.2', () => convert({ strides: null }, layout));
  }
  throws('LayoutError', 'not compatible with layoutRight', () => convert({ strides: [1, 2] }, layoutRight));
  throws('LayoutError', 'not compatible with layoutLeft', () => convert({}, layoutLeft));
  throws('LayoutError', 'not compatible with layoutRight', () =>
    convert({ shape: [1, 3], strides: [7, 1] }, layoutRight),
  );
  throws('ValueError', 'strictly positive', () => convert({ strides: [3, 0] }, layoutStride));
  throws('ValueError', 'strictly positive', () => convert({ strides: [-3, 1] }, layoutStride));
  throws('TypeError', '2 integers', () => convert({ strides: [1] }));
});

test('without elements a span keeps pointer and offset, as in C++', () => {
  const empty = { ...tensor, data: 0x1000cn, shape: [2, 0], strides: [5, 1], byteOffset: 8 };
  const relaxed = toHostMdspan(empty, { dtype: 'float32' });
  equal([relaxed.dataHandle.address, relaxed.mapping.offset, relaxed.size], [0x1000cn, 2, 0]);
  const strided = toHostMdspan(empty, { dtype: 'float32', layout: layoutStride });
  equal([strided.dataHandle.address, strided.mapping.offset], [0x10014n, 0]);
  equal(toHostMdspan({ ...empty, data: null }, { dtype: 'float32' }).dataHandle.address, 0n);
  const bytes = toHostMdspan({ ...empty, data: new Uint8Array(4) }, { dtype: 'float32', layout: layoutStride });
  equal([...bytes], []);
});

test('the rank is that of the DLTensor when none is expected', () => {
  const span = toHostMdspan(tensor, { dtype: 'float32' });
  equal([span.rank, span.shape], [2, [2, 3]]);
  equal(toHostMdspan(tensor, { dtype: 'float32', layout: layoutRight }).get(1, 2), span.get(1, 2));
});

test('constant elements', () => {
  const span = toHostMdspan(tensor, { dtype: 'float32', readonly: true });
  equal(span.dataHandle.isReadOnly, true);
  throws('ReadOnlyError', 'constant', () => span.set(0, 0, 1));
  using dl = toDLPackTensor(hostMdspan(new Float32Array(6), extents(2, 3)));
  throws('ReadOnlyError', 'constant', () =>
    toHostMdspan(dl.get(), { dtype: 'float32', rank: 2, readonly: true }).set(0, 0, 1),
  );
  toHostMdspan(dl.get(), { dtype: 'float32', rank: 2 }).set(0, 0, 1);
});

test('the round trip, also of an empty span, which C++ refuses', () => {
  const data = new Float32Array([1, 2, 3, 4, 5, 6]);
  using dl = toDLPackTensor(hostMdspan(data, layoutLeft(extents(2, 3))));
  const back = toHostMdspan(dl.get(), { dtype: 'float32', rank: 2, layout: layoutLeft });
  equal([...back], [1, 3, 5, 2, 4, 6]);
  back.set(0, 1, 30);
  equal(data[2], 30);
  for (const layout of [layoutRight, layoutStrideRelaxed]) {
    using empty = toDLPackTensor(hostMdspan(new Float32Array(0), extents(3, 0)));
    equal(empty.get().data, null);
    const none = toHostMdspan(empty.get(), { dtype: 'float32', rank: 2, layout });
    equal([[...none.shape], [...none]], [[3, 0], []]);
    using again = toDLPackTensor(none);
    equal([again.get().data, again.get().strides], [null, empty.get().strides]);
  }
});

test('the round trip of negative strides and of constant elements', () => {
  const data = new Float32Array([1, 2, 3, 4, 5, 6]);
  const reversed = hostMdspan(data, layoutStrideRelaxed(extents(2, 3), [-3, -1], 5), { readonly: true });
  using dl = toDLPackTensor(reversed);
  const back = toHostMdspan(dl.get(), { dtype: 'float32', rank: 2 });
  equal([...back], [6, 5, 4, 3, 2, 1]);
  throws('ReadOnlyError', 'constant', () => back.set(0, 0, 1));
});

test('the round trip keeps a typed array alive that has no other reference', async () => {
  const make = () => toDLPackTensor(hostMdspan(new Float32Array(1 << 16).fill(7), extents(65536))).get();
  const spans = Array.from({ length: 20 }, () => toHostMdspan(make(), { dtype: 'float32', rank: 1 }));
  await collect();
  new Float32Array(1 << 20).fill(1);
  for (const span of spans) equal([span.get(0), span.get(65535)], [7, 7]);
});

test('the round trip detects memory that its owner released', () => {
  const owner = Tensor.from([1, 2], { dtype: 'float32' });
  using dl = toDLPackTensor(hostMdspan(owner));
  const back = toHostMdspan(dl.get(), { dtype: 'float32', rank: 1 });
  owner.dispose();
  throws('DisposedError', 'span does not own', () => back.get(0));
});

test('every element type comes back', () => {
  for (const dtype of ['bool', 'int128', 'float4_e2m1fn', 'float6_e3m2fnx4', 'complex32', 'bfloat16x2'] as const) {
    const buffer = new ArrayBuffer(256);
    using dl = toDLPackTensor(hostMdspan(buffer, extents(2, 2), { dtype }));
    equal(toHostMdspan(dl.get(), { dtype: dtype as ElementType, rank: 2 }).dtype, dtype);
  }
});

test('things that are not DLTensors are refused', () => {
  const options = { dtype: 'float32', rank: 2 } as const;
  for (const value of [null, undefined, 7, 'x']) {
    throws('TypeError', 'a DLTensor', () => toHostMdspan(value as never, options));
  }
  throws('UnsupportedDeviceError', 'undefined', () => toHostMdspan({} as never, options));
  throws('UnsupportedDTypeError', 'code undefined', () => convert({ dtype: undefined as never }));
  throws('TypeError', 'options', () => toHostMdspan(tensor, undefined as never));
  throws('TypeError', 'dtype', () => toHostMdspan(tensor, { rank: 2 } as never));
  throws('TypeError', 'byteOffset', () => convert({ byteOffset: undefined as never }));
  throws('TypeError', 'data', () => convert({ data: 'x' as never }));
  throws('TypeError', 'unsupported layout policy', () => convert({}, (() => 0) as never));
  throws('UnsupportedDTypeError', 'unsupported type', () => toHostMdspan(tensor, { dtype: 'int4' as never, rank: 2 }));
});

test('bytes in place of an address', () => {
  const bytes = new Uint8Array(new Float32Array([9, 1, 2, 3, 4]).buffer, 4);
  const changes = { data: bytes, shape: [2, 2], strides: [2, 1] };
  const span = convert(changes);
  equal([...span], [1, 2, 3, 4]);
  span.set(0, 0, 10);
  equal(new Float32Array(bytes.buffer)[1], 10);
  equal(convert({ ...changes, byteOffset: 4, shape: [1, 2], strides: [2, 1] }, layoutRight).get(0, 0), 2);
  throws('LayoutError', 'there are 16 bytes', () => convert({ ...changes, shape: [2, 3], strides: [3, 1] }));
  throws('LayoutError', 'from byte -4 on', () => convert({ ...changes, strides: [1, -1] }));
  throws('BufferError', 'must be aligned', () => convert({ ...changes, data: bytes.subarray(1) }));
  throws('LayoutError', 'there are', () => convert({ ...changes, byteOffset: 4000, shape: [1, 1] }));
  ok(convert({ ...changes, data: new Uint8Array(0), shape: [0, 2] }).size === 0);
});

test('integers beyond 2^53 are accepted with { bigint: true }', () => {
  const memory = new Int32Array([1, 2, 3]);
  const tensor = toDLPackTensor(hostMdspan(memory, extents(1, 3))).get();
  tensor.strides = BigInt64Array.of(-(2n ** 63n), 1n);
  throws('ValueError', '{ bigint: true }', () => toHostMdspan(tensor, { dtype: 'int32', rank: 2 }));
  const span = toHostMdspan(tensor, { dtype: 'int32', rank: 2, bigint: true });
  equal([...span.strides], [-(2n ** 63n), 1]);
  equal([...span], [1, 2, 3]);
  const wrong = { ...tensor, strides: [2n ** 63n, 1n] };
  throws('ValueError', '2^63 - 1', () => toHostMdspan(wrong, { dtype: 'int32', rank: 2, bigint: true }));
  const rounded = { ...tensor, strides: [2 ** 60, 1] };
  throws('ValueError', '2^53 - 1', () => toHostMdspan(rounded, { dtype: 'int32', rank: 2, bigint: true }));
  const large = { ...tensor, shape: [2n ** 32n, 2n ** 31n], strides: [0, 0] };
  throws('LayoutError', 'shape overflow', () => toHostMdspan(large, { dtype: 'int32', rank: 2, bigint: true }));
});

test('bytes far beyond the memory are refused when there are elements', () => {
  const bytes = new Uint8Array(16);
  const tensor = {
    data: bytes,
    device: { type: 1, id: 0 },
    ndim: 1,
    dtype: { code: 0, bits: 32, lanes: 1 },
    shape: [2n],
    strides: [1n],
    byteOffset: 2n ** 60n,
  };
  const options = { dtype: 'int32', rank: 1, layout: layoutRight, bigint: true } as const;
  throws('LayoutError', 'there are 16 bytes', () => toHostMdspan(tensor, options));
  equal(toHostMdspan({ ...tensor, shape: [0n] }, options).size, 0);
});
