import { fromDLPack, Tensor } from 'dlpack';
import {
  type Accessor,
  DLPackTensor,
  deviceMdspan,
  dynamic,
  extents,
  hostMdspan,
  type LayoutMapping,
  layoutLeft,
  layoutRight,
  layoutStride,
  layoutStrideRelaxed,
  managedMdspan,
  setPointerDriver,
  toDLPackTensor,
  toHostMdspan,
} from 'dlpack/mdspan';
import { addressOf } from 'dlpack/native';
import { equal, notEqual, ok, throws } from '../../assert.js';
import { collect, test } from '../../harness.js';

const plain = (values: ArrayLike<bigint> | null) => (values === null ? null : Array.from(values, Number));

test('every field of a host span', () => {
  const data = new Int32Array([0, 1, 2, 3, 4, 5]);
  using dl = toDLPackTensor(hostMdspan(data, extents(2, 3)));
  const tensor = dl.get();
  equal(tensor.device, { type: 1, id: 0 });
  equal(tensor.ndim, 2);
  equal(tensor.dtype, { code: 0, bits: 32, lanes: 1 });
  equal(tensor.shape, new BigInt64Array([2n, 3n]));
  equal(tensor.strides, new BigInt64Array([3n, 1n]));
  equal(tensor.byteOffset, 0);
  equal(tensor.data, addressOf(Tensor.wrap(data)));
  equal(Object.keys(tensor), ['data', 'device', 'ndim', 'dtype', 'shape', 'strides', 'byteOffset']);
});

test('strides of each layout', () => {
  const data = new Float32Array(64);
  const strides = (layout: LayoutMapping & { stride(axis: number): number }) => {
    using dl = toDLPackTensor(hostMdspan(data, layout));
    return plain(dl.get().strides);
  };
  equal(strides(layoutRight(extents(2, 3, 4))), [12, 4, 1]);
  equal(strides(layoutLeft(extents(2, dynamic(3), 4))), [1, 2, 6]);
  equal(strides(layoutStride(extents(2, 3), [10, 2])), [10, 2]);
  equal(strides(layoutStrideRelaxed(extents(2, 3), [0, -1], 2)), [0, -1]);
});

test('data is the element whose indices are all zero, offset or not', () => {
  const data = new Float32Array(8);
  const base = addressOf(Tensor.wrap(data));
  using reversed = toDLPackTensor(hostMdspan(data, layoutStrideRelaxed(extents(2, 3), [-3, -1], 5)));
  equal(reversed.get().data, base + 20n);
  equal(reversed.get().byteOffset, 0);
  using part = toDLPackTensor(hostMdspan(data.subarray(2), extents(3)));
  equal(part.get().data, base + 8n);
});

test('without elements data is null; without axes shape and strides are null', () => {
  using empty = toDLPackTensor(hostMdspan(new Float32Array(0), extents(0, 3)));
  equal(empty.get().data, null);
  equal(
    [plain(empty.get().shape), plain(empty.get().strides)],
    [
      [0, 3],
      [3, 1],
    ],
  );
  const data = new Float32Array([7]);
  using scalar = toDLPackTensor(hostMdspan(data, extents()));
  equal([scalar.get().ndim, scalar.get().shape, scalar.get().strides], [0, null, null]);
  equal(scalar.get().data, addressOf(Tensor.wrap(data)));
});

test('constant elements are exported, because C++ casts const away', () => {
  const data = new Float32Array(2);
  using dl = toDLPackTensor(hostMdspan(data, extents(2), { readonly: true }));
  equal(dl.get().data, addressOf(Tensor.wrap(data)));
});

test('the device of each kind', () => {
  const device = deviceMdspan(0x1000n, extents(2), { dtype: 'float32', deviceId: 3 });
  using onDevice = toDLPackTensor(device);
  equal(onDevice.get().device, { type: 2, id: 3 });
  equal(onDevice.get().data, 0x1000n);
  using managed = toDLPackTensor(managedMdspan(0x2000n, extents(2), { dtype: 'float32' }));
  equal(managed.get().device, { type: 13, id: 0 });
});

test('only device spans have a device number', () => {
  const options = { dtype: 'float32', deviceId: 1 } as const;
  throws('ValueError', 'no number for a managedMdspan', () => managedMdspan(0x2000n, extents(2), options));
  throws('ValueError', 'no number for a hostMdspan', () => hostMdspan(0x2000n, extents(2), options as never));
});

test('the driver finds the device of a pointer', () => {
  const asked: bigint[] = [];
  const span = deviceMdspan(0x1000n, extents(2), { dtype: 'float32' });
  throws('UnsupportedDeviceError', 'failed to get device ordinal of a pointer', () => toDLPackTensor(span));
  setPointerDriver({
    deviceOrdinal: (address) => {
      asked.push(address);
      return address < 0x8000n ? 5 : null;
    },
  });
  try {
    using dl = toDLPackTensor(span);
    equal(dl.get().device, { type: 2, id: 5 });
    using empty = toDLPackTensor(deviceMdspan(0x3000n, extents(0), { dtype: 'float32' }));
    equal(empty.get().device.id, 5, 'an empty span asks too, as in C++');
    equal(asked, [0x1000n, 0x3000n]);
    const unknown = deviceMdspan(0x9000n, extents(2), { dtype: 'float32' });
    throws('UnsupportedDeviceError', 'the driver knows none', () => toDLPackTensor(unknown));
    using told = toDLPackTensor(deviceMdspan(0x9000n, extents(2), { dtype: 'float32', deviceId: 1 }));
    equal(told.get().device.id, 1, 'what the span was told goes before the driver');
  } finally {
    setPointerDriver(null);
  }
});

test('an invalid driver, and nonsense that a driver returns, give typed errors', () => {
  throws('TypeError', 'deviceOrdinal()', () => setPointerDriver({} as never));
  throws('TypeError', 'deviceOrdinal()', () => setPointerDriver(undefined as never));
  setPointerDriver({ deviceOrdinal: () => -1 });
  try {
    throws('UnsupportedDeviceError', 'device id', () =>
      toDLPackTensor(deviceMdspan(0x1000n, extents(2), { dtype: 'float32' })),
    );
  } finally {
    setPointerDriver(null);
  }
});

test('strides that do not fit are refused', () => {
  const mapping = (stride: unknown) => ({
    extents: extents(1),
    requiredSpanSize: 1,
    isUnique: true,
    isExhaustive: true,
    isStrided: true,
    offsetAt: () => 0,
    stride: () => stride as number,
  });
  const convert = (stride: unknown) => () => toDLPackTensor(hostMdspan(new Float32Array(1), mapping(stride)));
  throws('LayoutError', 'stride is too large', convert(2 ** 63));
  throws('LayoutError', 'stride is too large', convert(2 ** 53));
  throws('LayoutError', 'stride is too large', convert(Number.NaN));
  throws('TypeError', 'stride 0', convert(2n ** 63n));
});

test('a handle that is not a pointer is refused', () => {
  const table: Accessor<string, readonly string[]> = { read: (rows, i) => rows[i] ?? '', offset: (rows) => rows };
  const span = hostMdspan(['a'], extents(1), { accessor: table });
  throws('TypeError', 'data_handle_type must be a pointer', () => toDLPackTensor(span as never));
  const device = deviceMdspan(['a'], extents(1), { accessor: table });
  throws('TypeError', 'data_handle_type must be a pointer', () => toDLPackTensor(device as never));
  throws('TypeError', 'an mdspan', () => toDLPackTensor({ kind: 'host' } as never));
  throws('TypeError', 'an mdspan', () => toDLPackTensor(null as never));
});

test('a copy has its own storage and outlives the original', () => {
  const first = toDLPackTensor(hostMdspan(new Float32Array(6), extents(2, 3)));
  const second = first.copy();
  const [a, b] = [first.get(), second.get()];
  notEqual(a.shape, null);
  ok(a.shape !== b.shape && a.strides !== b.strides, 'not the same arrays');
  (a.shape as BigInt64Array)[0] = 99n;
  equal(plain(b.shape), [2, 3]);
  first.dispose();
  equal([plain(b.shape), plain(b.strides), b.ndim], [[2, 3], [3, 1], 2]);
  second.dispose();
});

test('a move transfers the storage', () => {
  const first = toDLPackTensor(hostMdspan(new Float32Array(6), extents(2, 3)));
  const before = first.get();
  const { shape } = before;
  const second = first.move();
  ok(first.isDisposed && !second.isDisposed);
  throws('DisposedError', 'disposed or moved', () => first.get());
  throws('DisposedError', 'disposed or moved', () => first.copy());
  throws('DisposedError', 'disposed or moved', () => first.move());
  throws('DisposedError', 'must not outlive', () => before.shape);
  ok(second.get().shape === shape, 'the storage moved');
  first.dispose();
  equal(plain(shape), [2, 3], 'disposing what was moved from changes nothing');
  second.dispose();
  equal(shape?.length, 0);
});

test('a wrapper without a span has zeros, and can be assigned', () => {
  const dl = new DLPackTensor();
  const tensor = dl.get();
  equal(
    [tensor.data, tensor.device, tensor.ndim, tensor.dtype, tensor.shape, tensor.strides, tensor.byteOffset],
    [null, { type: 0, id: 0 }, 0, { code: 0, bits: 0, lanes: 0 }, null, null, 0],
  );
  const data = new Float32Array(6);
  const other = toDLPackTensor(hostMdspan(data, extents(2, 3)));
  equal(dl.assign(other) === dl, true);
  ok(dl.get() === tensor, 'one DLTensor for each wrapper, which shows what it holds now');
  equal([tensor.data, plain(tensor.shape)], [addressOf(Tensor.wrap(data)), [2, 3]]);
  ok(tensor.shape !== other.get().shape, 'storage of its own');
  other.dispose();
  equal(plain(tensor.strides), [3, 1]);

  const kept = tensor.shape;
  dl.assign(toDLPackTensor(hostMdspan(data, extents(6))).move());
  equal([tensor.ndim, plain(tensor.shape), kept?.length], [1, [6], 0]);
  equal(plain(dl.assign(dl).get().shape), [6], 'assigned to itself');

  const moved = dl.move();
  throws('DisposedError', 'disposed or moved', () => tensor.ndim);
  equal(plain(dl.assign(moved).get().shape), [6], 'what was moved from can be assigned to');
  ok(!dl.isDisposed);
  throws('TypeError', 'a DLPackTensor', () => dl.assign({} as never));
  throws('DisposedError', 'moved', () => dl.assign(disposed()));
  throws('TypeError', 'an mdspan', () => new DLPackTensor({} as never));
});

const disposed = () => {
  const dl = new DLPackTensor();
  dl.dispose();
  return dl;
};

test('fields can be written through get() and read through getConst()', () => {
  const data = new Float32Array([1, 2, 3, 4, 5, 6]);
  const dl = toDLPackTensor(hostMdspan(data, extents(2, 3)));
  const [tensor, constant] = [dl.get(), dl.getConst()];
  ok(constant === dl.getConst() && (constant as unknown) !== tensor);
  throws('TypeError', '', () => {
    try {
      (constant as { ndim: number }).ndim = 1;
    } catch (error) {
      ok(error instanceof TypeError);
      throw Object.assign(error, { tag: 'TypeError', [Symbol.for('dlpack.error')]: true });
    }
  });
  tensor.byteOffset = 4;
  tensor.ndim = 1;
  tensor.shape = new BigInt64Array([2n]);
  tensor.strides = new BigInt64Array([2n]);
  equal([constant.byteOffset, constant.ndim], [4, 1]);
  equal([...toHostMdspan(tensor, { dtype: 'float32' })], [2, 4]);
  equal(plain(dl.copy().get().shape), [2]);
  const other = new Float32Array([7, 8, 9, 10]);
  tensor.data = new Uint8Array(other.buffer);
  equal([...toHostMdspan(tensor, { dtype: 'float32', rank: 1 })], [8, 10], 'what a program pointed elsewhere');
});

test('a DLTensor of a span is a producer, unless it was changed', () => {
  const data = new Float32Array([1, 2, 3, 4, 5, 6]);
  const dl = toDLPackTensor(hostMdspan(data, layoutLeft(extents(2, 3))));
  const x = fromDLPack(dl.get()) as Tensor<'float32'>;
  x.set(1, 2, 60);
  equal([data[5], x.strides, fromDLPack(dl.getConst()).shape], [60, [1, 2], [2, 3]]);
  (dl.get().shape as BigInt64Array)[0] = 1n;
  throws('BufferError', 'toHostMdspan', () => fromDLPack(dl.get()));
  const moved = toDLPackTensor(hostMdspan(data, extents(6)));
  moved.get().byteOffset = 4;
  throws('BufferError', 'toHostMdspan', () => fromDLPack(moved.get()));
  throws('BufferError', 'changed', () => fromDLPack(new DLPackTensor().get()));
});

test('extents whose product overflows although one is zero', () => {
  const span = hostMdspan(new Float32Array(0), layoutLeft(extents(0, 4294967296, 2147483648)));
  equal([span.size, plain(toDLPackTensor(span).get().shape)], [0, [0, 2 ** 32, 2 ** 31]]);
  equal(plain(toDLPackTensor(span).get().strides), [1, 0, 0]);
  const right = hostMdspan(new Float32Array(0), extents(0, 4294967296, 2147483648));
  throws('LayoutError', 'stride is too large', () => toDLPackTensor(right));
  throws('LayoutError', '2^53', () => extents(4294967296, 2147483648));
});

test('a DLTensor cannot be used after its wrapper', () => {
  const dl = toDLPackTensor(hostMdspan(new Float32Array(6), extents(2, 3)));
  const tensor = dl.get();
  const { shape, strides } = tensor;
  dl.dispose();
  dl.dispose();
  throws('DisposedError', 'disposed or moved', () => dl.get());
  for (const field of ['data', 'device', 'ndim', 'dtype', 'shape', 'strides', 'byteOffset'] as const) {
    throws('DisposedError', 'must not outlive', () => tensor[field]);
  }
  equal([shape?.length, strides?.length], [0, 0], 'arrays that were kept are empty');
});

test('a rank-0 DLTensor cannot be used after its wrapper either', () => {
  const dl = toDLPackTensor(hostMdspan(new Float32Array(1), extents()));
  const tensor = dl.get();
  dl.dispose();
  throws('DisposedError', 'must not outlive', () => tensor.shape);
});

test('a DLTensor of a temporary wrapper stays valid', async () => {
  const data = new Float32Array([1, 2]);
  const tensor = toDLPackTensor(hostMdspan(data, extents(2))).get();
  await collect();
  equal([plain(tensor.shape), tensor.data], [[2], addressOf(Tensor.wrap(data))]);
});

test('memory that no longer exists is detected', () => {
  const owner = Tensor.from([1, 2], { dtype: 'float32' });
  using dl = toDLPackTensor(hostMdspan(owner));
  const tensor = dl.get();
  equal(tensor.data, addressOf(owner));
  owner.dispose();
  throws('DisposedError', 'span does not own', () => tensor.data);
  const data = new Float32Array(2);
  using other = toDLPackTensor(hostMdspan(data, extents(2)));
  structuredClone(data.buffer, { transfer: [data.buffer] });
  throws('DisposedError', 'detached', () => other.get().data);
});
