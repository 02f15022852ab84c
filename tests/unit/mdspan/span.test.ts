import { fromDLPack, Tensor } from 'dlpack';
import {
  type Accessor,
  deviceMdspan,
  dynamic,
  type ElementType,
  elementTypes,
  extents,
  hostMdspan,
  type LayoutMapping,
  layoutLeft,
  layoutStrideRelaxed,
  managedMdspan,
  type Pointer,
  pointerTo,
} from 'dlpack/mdspan';
import { addressOf } from 'dlpack/native';
import { equal, ok, throws } from '../../assert.js';
import { test } from '../../harness.js';

test('a span over a typed array reads and writes its memory', () => {
  const data = new Int32Array([0, 1, 2, 3, 4, 5]);
  const span = hostMdspan(data, extents(2, 3));
  equal(span.get(1, 2), 5);
  span.set(0, 1, 42);
  equal(data[1], 42);
  data[5] = 7;
  equal(span.get(1, 2), 7);
  equal([...span], [0, 42, 2, 3, 4, 7]);
  equal([span.rank, span.size, span.dtype, span.kind], [2, 6, 'int32', 'host']);
  equal([span.extent(1), span.stride(0)], [3, 3]);
  equal(
    [[...span.shape], [...span.strides]],
    [
      [2, 3],
      [3, 1],
    ],
  );
  equal(String(span), 'HostMdspan(int32, extents(2, 3))');
});

test('the layout decides which element an index means', () => {
  const data = new Float64Array([0, 1, 2, 3, 4, 5]);
  equal([...hostMdspan(data, layoutLeft(extents(2, 3)))], [0, 2, 4, 1, 3, 5]);
  equal([...hostMdspan(data, layoutStrideRelaxed(extents(2, 3), [-3, -1], 5))], [5, 4, 3, 2, 1, 0]);
  equal([...hostMdspan(data, layoutStrideRelaxed(extents(2, 3), [0, 1]))], [0, 1, 2, 0, 1, 2]);
  equal(hostMdspan(data, extents()).get(), 0);
  equal([...hostMdspan(data, extents(0, 3))], []);
});

test('part of a buffer, and memory of another type', () => {
  const data = new Float32Array([9, 1, 2, 3, 4]);
  const span = hostMdspan(data.subarray(1), extents(2, 2));
  equal([...span], [1, 2, 3, 4]);
  const bits = hostMdspan(data.buffer, extents(5), { dtype: 'uint32' });
  equal(bits.get(1), 0x3f800000);
  const shared = hostMdspan(new SharedArrayBuffer(8), extents(2), { dtype: 'int32' });
  shared.set(1, -1);
  equal([...shared], [0, -1]);
});

/** A value of each element type, and how it must lie in memory: `[value, bytes of one element]`. */
const samples: Record<string, [value: unknown, bytes: readonly number[]]> = {
  bool: [true, [1]],
  int8: [-2, [0xfe]],
  int16: [-2, [0xfe, 0xff]],
  int32: [-2, [0xfe, 0xff, 0xff, 0xff]],
  int64: [-2n, [0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff]],
  int128: [-2n, [0xfe, ...new Array<number>(15).fill(0xff)]],
  uint8: [254, [254]],
  uint16: [258, [2, 1]],
  uint32: [258, [2, 1, 0, 0]],
  uint64: [258n, [2, 1, 0, 0, 0, 0, 0, 0]],
  uint128: [258n, [2, 1, ...new Array<number>(14).fill(0)]],
  float16: [1.5, [0, 0x3e]],
  bfloat16: [1.5, [0xc0, 0x3f]],
  float32: [1.5, [0, 0, 0xc0, 0x3f]],
  float64: [1.5, [0, 0, 0, 0, 0, 0, 0xf8, 0x3f]],
  float128: [Uint8Array.from({ length: 16 }, (_, i) => i), [...new Array(16).keys()]],
  float8_e4m3fn: [1.5, [0x3c]],
  float8_e5m2: [1.5, [0x3e]],
  float8_e8m0fnu: [2, [128]],
  float6_e2m3fn: [1.5, [0x0c]],
  float6_e3m2fn: [1.5, [0x0e]],
  float4_e2m1fn: [1.5, [3]],
  complex32: [{ re: 1.5, im: -1.5 }, [0, 0x3e, 0, 0xbe]],
  complex64: [{ re: 1.5, im: -1.5 }, [0, 0, 0xc0, 0x3f, 0, 0, 0xc0, 0xbf]],
  complex128: [{ re: 1.5, im: 0 }, [0, 0, 0, 0, 0, 0, 0xf8, 0x3f, 0, 0, 0, 0, 0, 0, 0, 0]],
};

/** The bytes of a vector: lanes side by side, except that two four-bit lanes share a byte. */
function sampleOf(dtype: ElementType): [value: unknown, bytes: readonly number[]] {
  const [base, lanes] = dtype.split(/x(?=[24]$)/) as [string, string | undefined];
  const [value, bytes] = samples[base] as [unknown, readonly number[]];
  if (lanes === undefined) return [value, bytes];
  const count = Number(lanes);
  const all = Array.from({ length: count }, () => bytes).flat();
  return [new Array(count).fill(value), base === 'float4_e2m1fn' ? new Array(count / 2).fill(0x33) : all];
}

test('every element type has the same bytes as in C++', () => {
  equal(elementTypes.length, 25 + 34);
  for (const dtype of elementTypes) {
    const [value, bytes] = sampleOf(dtype);
    const buffer = new ArrayBuffer(3 * bytes.length);
    const span = hostMdspan(buffer, extents(3), { dtype });
    span.set(1, value as never);
    const zeros = new Array<number>(bytes.length).fill(0);
    equal([...new Uint8Array(buffer)], [...zeros, ...bytes, ...zeros], dtype);
    equal(span.get(1), value, dtype);
    equal(span.dtype, dtype);
    throws('LayoutError', 'there are 3', () => hostMdspan(buffer, extents(4), { dtype }));
  }
});

test('types that C++ does not have are refused', () => {
  const make = (dtype: string) => () => hostMdspan(new ArrayBuffer(64), extents(1), { dtype: dtype as ElementType });
  for (const dtype of ['int4', 'uint1', 'handle', 'float8_e4m3', 'float8_e5m2fnuz']) {
    throws('UnsupportedDTypeError', '(unsupported type)', make(dtype));
  }
  for (const dtype of ['float32x3', 'float32x8', 'float16x4', 'complex64x2', 'boolx2', 'int128x2', 'bfloat16x4']) {
    throws('UnsupportedDTypeError', '(unsupported vector type)', make(dtype));
  }
  throws('UnsupportedDTypeError', 'nonsense', make('nonsense'));
});

test('values that the type cannot hold are refused', () => {
  const bytes = new Uint8Array(64);
  throws('ValueError', 'from 0 to 255', () => hostMdspan(bytes, extents(3)).set(0, 256));
  throws('TypeError', 'array of 2 values', () =>
    hostMdspan(bytes, extents(3), { dtype: 'float6_e2m3fnx2' }).set(0, [1]),
  );
  throws('TypeError', 'array of 4 values', () =>
    hostMdspan(bytes, extents(3), { dtype: 'float6_e2m3fnx4' }).set(0, 1 as never),
  );
});

test('indices outside the extents are refused', () => {
  const span = hostMdspan(new Float32Array(6), extents(2, 3));
  throws('IndexError', 'from 0 to 2 on axis 1', () => span.get(0, 3));
  throws('IndexError', 'on axis 0', () => span.get(-1, 0));
  throws('IndexError', '0.5', () => span.set(0.5, 0, 1));
  throws('IndexError', 'Expected 2 indices', () => span.get(...([1] as never as [number, number])));
  const set = (...args: unknown[]) => span.set(...(args as [number, number, number]));
  throws('IndexError', 'Expected 2 indices and then a value for extents [2, 3] but received 2', () => set(1, 2));
  throws('IndexError', 'Expected 2 indices and then a value', () => set([1, 1], 2));
  throws('IndexError', 'Expected 2 indices and then a value', () => set(1, 1, 1, 2));
});

test('memory that is too small or not aligned is refused', () => {
  throws('LayoutError', 'Expected memory of 7 elements', () => hostMdspan(new Float32Array(6), extents(7)));
  throws('LayoutError', 'there are 3', () => hostMdspan(new ArrayBuffer(15), extents(4), { dtype: 'float32' }));
  throws('BufferError', 'aligned to 4 bytes', () =>
    hostMdspan(new Uint8Array(9).subarray(1), extents(2), { dtype: 'float32' }),
  );
  throws('LayoutError', 'Expected memory of 6', () =>
    hostMdspan(new Float32Array(5), layoutStrideRelaxed(extents(2, 3), [-3, -1], 5)),
  );
});

test('constant elements cannot be written', () => {
  const data = new Float32Array(2);
  const span = hostMdspan(data, extents(2), { readonly: true });
  throws('ReadOnlyError', 'constant', () => span.set(0, 1));
  equal(data[0], 0);
  ok(fromDLPack(span).isReadOnly, 'the managed tensor says so');
  const tensor = Tensor.wrap(data, { readonly: true });
  throws('ReadOnlyError', 'constant', () => hostMdspan(tensor).set(0, 1));
});

test('a detached buffer is detected', () => {
  const data = new Float32Array(2);
  const span = hostMdspan(data, extents(2));
  structuredClone(data.buffer, { transfer: [data.buffer] });
  throws('DisposedError', 'detached', () => span.get(0));
  throws('DisposedError', 'detached', () => span.set(0, 1));
});

test('a tensor keeps its shape, its strides and its memory', () => {
  using tensor = Tensor.from(
    [
      [1, 2, 3],
      [4, 5, 6],
    ],
    { dtype: 'float32' },
  );
  const span = hostMdspan(tensor);
  equal(
    [[...span.shape], [...span.strides]],
    [
      [2, 3],
      [3, 1],
    ],
  );
  span.set(1, 2, 60);
  equal(tensor.get(1, 2), 60);
  using flipped = tensor.flip();
  const back = hostMdspan(flipped);
  equal([...back], [60, 5, 4, 3, 2, 1]);
  equal(back.mapping.offset, 5);
  using column = tensor.slice(null, 1);
  equal([...hostMdspan(column)], [2, 5]);
  equal([...hostMdspan(tensor.view().transpose())], [1, 4, 2, 5, 3, 60]);
});

test('a contiguous tensor under another layout', () => {
  using tensor = Tensor.from([1, 2, 3, 4, 5, 6], { dtype: 'float32' });
  const span = hostMdspan(tensor, layoutLeft(extents(dynamic(2), 3)));
  equal([...span], [1, 3, 5, 2, 4, 6]);
  using middle = tensor.slice([1, 5]);
  equal([...hostMdspan(middle, extents(2, 2))], [2, 3, 4, 5]);
  throws('LayoutError', 'there are 4', () => hostMdspan(middle, extents(5)));
  using gaps = tensor.slice([0, 6, 2]);
  throws('LayoutError', 'contiguous', () => hostMdspan(gaps, extents(3)));
  throws('ValueError', "tensor's dtype 'float32'", () => hostMdspan(tensor, extents(2), { dtype: 'int32' as never }));
});

test('a span does not keep its tensor alive', () => {
  const tensor = Tensor.from([1, 2], { dtype: 'float32' });
  const span = hostMdspan(tensor);
  tensor.dispose();
  throws('DisposedError', 'span does not own', () => span.get(0));
  throws('DisposedError', 'span does not own', () => fromDLPack(span));
  throws('DisposedError', 'live tensor', () => hostMdspan(tensor));
});

test('tensors that pack narrow elements are refused', () => {
  throws('LayoutError', 'packs them', () => hostMdspan(Tensor.zeros([4], 'float4_e2m1fn')));
  throws('LayoutError', 'packs them', () => hostMdspan(Tensor.zeros([4], 'float6_e2m3fnx2')));
  throws('UnsupportedDTypeError', 'unsupported type', () => hostMdspan(Tensor.zeros([4], 'int4')));
  equal(hostMdspan(Tensor.zeros([4], 'float4_e2m1fnx2')).get(0), [0, 0]);
});

test('host memory at an address', () => {
  using tensor = Tensor.from([1, 2, 3, 4], { dtype: 'float32' });
  const span = hostMdspan(addressOf(tensor), extents(2, 2), { dtype: 'float32' });
  equal([...span], [1, 2, 3, 4]);
  span.set(1, 1, 40);
  equal(tensor.get(3), 40);
  using shared = fromDLPack(span);
  shared.set(0, 0, 10);
  equal(tensor.get(0), 10);
  equal(addressOf(shared), addressOf(tensor));
  const constant = hostMdspan(addressOf(tensor), extents(4), { dtype: 'float32', readonly: true });
  throws('ReadOnlyError', 'constant', () => constant.set(0, 1));
});

test('invalid addresses are refused', () => {
  const at = (address: bigint) => () => hostMdspan(address, extents(2), { dtype: 'float32' });
  throws('ValueError', 'NULL', at(0n));
  throws('ValueError', '64 bits', at(-8n));
  throws('ValueError', '64 bits', at(2n ** 64n));
  equal(hostMdspan(0n, extents(0), { dtype: 'float32' }).size, 0);
  throws('TypeError', 'dtype', () => hostMdspan(8n, extents(2), {} as never));
  throws('UnsupportedDeviceError', 'device id', () => deviceMdspan(8n, extents(2), { dtype: 'int8', deviceId: -1 }));
});

test('device spans have no element access, managed ones do', () => {
  const device = deviceMdspan(0x1000n, extents(2, 3), { dtype: 'float16', deviceId: 1 });
  ok(!('get' in device) && !('set' in device) && !(Symbol.iterator in device));
  equal([device.kind, device.dtype, device.size], ['device', 'float16', 6]);
  using tensor = Tensor.from([1, 2], { dtype: 'float32' });
  const managed = managedMdspan(addressOf(tensor), extents(2), { dtype: 'float32' });
  managed.set(1, 20);
  equal(tensor.get(1), 20);
  equal(managed.kind, 'managed');
});

test('memory of another kind of device is refused', () => {
  using tensor = Tensor.from([1, 2], { dtype: 'float32' });
  throws('UnsupportedDeviceError', 'kDLCUDA', () => deviceMdspan(tensor));
  throws('UnsupportedDeviceError', 'kDLCUDAManaged', () => managedMdspan(tensor, extents(2)));
  throws('UnsupportedDeviceError', 'kDLCUDA', () => deviceMdspan(pointerTo(new Float32Array(2)), extents(2)));
  const onDevice = pointerTo(8n, { dtype: 'float32', size: 2, deviceId: 0 });
  throws('UnsupportedDeviceError', 'kDLCPU', () => hostMdspan(onDevice, extents(2)));
  throws('TypeError', 'deviceMdspan', () => deviceMdspan(new Float32Array(2) as never, extents(2)));
});

test('sources and layouts of the wrong kind are refused', () => {
  for (const source of [null, undefined, 7, 'x', {}, [1, 2], new DataView(new ArrayBuffer(8))]) {
    throws('TypeError', 'source', () => hostMdspan(source as never, extents(2)));
  }
  throws('TypeError', 'layout', () => hostMdspan(new Float32Array(2), [2] as never));
  throws('TypeError', 'layout', () => hostMdspan(new Float32Array(2), undefined as never));
  throws('TypeError', 'options', () => hostMdspan(new Float32Array(2), extents(2), null as never));
  throws('TypeError', 'options', () => pointerTo(new Float32Array(2), 7 as never));
});

/** Element (i, j) of a symmetric matrix: only one triangle is stored. */
function symmetric<N extends number>(n: N): LayoutMapping<readonly [N, N]> {
  return {
    extents: extents(n as never, n as never) as never,
    requiredSpanSize: (n * (n + 1)) / 2,
    isUnique: false,
    isExhaustive: true,
    isStrided: false,
    offsetAt: (i, j) => (i >= j ? (i * (i + 1)) / 2 + j : (j * (j + 1)) / 2 + i),
  };
}

test('a user-written layout', () => {
  const span = hostMdspan(new Float32Array([1, 2, 3, 4, 5, 6]), symmetric(3));
  equal([...span], [1, 2, 4, 2, 3, 5, 4, 5, 6]);
  span.set(0, 2, 40);
  equal(span.get(2, 0), 40);
  throws('LayoutError', 'no stride() method', () => span.stride(0));
  throws('LayoutError', 'no stride() method', () => fromDLPack(span));
});

test('a user-written layout that contradicts itself is refused', () => {
  const data = new Float32Array(4);
  const honest = symmetric(2);
  throws('LayoutError', 'from the layout', () => hostMdspan(data, { ...honest, offsetAt: () => 3 }).get(0, 0));
  throws('LayoutError', 'from the layout', () => hostMdspan(data, { ...honest, offsetAt: () => -1 }).get(0, 0));
  throws('LayoutError', 'from the layout', () => hostMdspan(data, { ...honest, offsetAt: () => 0.5 }).get(0, 0));
  throws('LayoutError', 'requiredSpanSize', () => hostMdspan(data, { ...honest, requiredSpanSize: Number.NaN }));
  throws('TypeError', 'layout mapping', () => hostMdspan(data, { ...honest, offsetAt: 3 } as never));
  const strided = { ...honest, isStrided: true, stride: () => 1000 };
  throws('LayoutError', 'stay inside a memory of 16 bytes', () => fromDLPack(hostMdspan(data, strided)));
  const backwards = { ...honest, isStrided: true, stride: () => -1 };
  throws('LayoutError', 'stay inside a memory of 16 bytes', () => fromDLPack(hostMdspan(data, backwards)));
  const unstrided = { ...honest, stride: () => 1 };
  throws('LayoutError', 'is not strided', () => fromDLPack(hostMdspan(data, unstrided)));
});

test('a user-written accessor over a pointer', () => {
  const scaled: Accessor<number, Pointer<'float32'>> = {
    read: (pointer, offset) => pointer.read(offset) * 10,
    write: (pointer, offset, value) => pointer.write(offset, value / 10),
    offset: (pointer, offset) => pointer.plus(offset),
  };
  const data = new Float32Array([1, 2, 3]);
  const span = hostMdspan(pointerTo(data), extents(3), { accessor: scaled });
  equal([...span], [10, 20, 30]);
  span.set(0, 50);
  equal(data[0], 5);
  equal(span.dtype, 'float32');
  using raw = fromDLPack(span);
  equal(raw.get(0), 5, 'DLPack sees the memory, not the accessor');
  const wild: Accessor<number, Pointer<'float32'>> = { ...scaled, read: (pointer) => pointer.read(99) };
  throws('LayoutError', 'inside the memory', () => hostMdspan(pointerTo(data), extents(3), { accessor: wild }).get(0));
});

test('a user-written accessor over something that is not memory', () => {
  const table: Accessor<string, readonly string[]> = {
    read: (rows, offset) => rows[offset] ?? '',
    offset: (rows, offset) => rows.slice(offset),
  };
  const span = hostMdspan(['a', 'b', 'c', 'd'], extents(2, 2), { accessor: table });
  equal([...span], ['a', 'b', 'c', 'd']);
  equal(span.dtype, null);
  throws('ReadOnlyError', 'no write()', () => span.set(0, 0, 'x'));
  throws('TypeError', 'data_handle_type must be a pointer', () => fromDLPack(span));
  for (const accessor of [{}, { read: () => 1 }, null, 7]) {
    throws('TypeError', 'accessor', () => hostMdspan('x', extents(1), { accessor: accessor as never }));
  }
});

test('pointers stay inside their memory', () => {
  const pointer = pointerTo(new Int16Array([1, 2, 3]));
  equal(pointer.plus(2).read(0), 3);
  equal(pointer.plus(3).available, 0);
  throws('LayoutError', 'inside its memory', () => pointer.plus(4));
  throws('LayoutError', 'inside its memory', () => pointer.plus(-1));
  throws('TypeError', 'elements', () => pointer.plus(0.5));
  throws('LayoutError', 'inside the memory', () => pointer.read(3));
  throws('LayoutError', 'inside the memory', () => pointer.write(-1, 0));
  equal([...hostMdspan(pointer.plus(1), extents(2))], [2, 3]);
  throws('ValueError', 'size', () => pointerTo(8n, { dtype: 'int8', size: -1 }));
});
