import { ArgumentTypeError, type DType, dtypes, fromDLPack, isDLPackError, Tensor, TensorView } from 'dlpack';
import { equal, notEqual, ok, throws } from '../assert.js';
import { hasExternalBuffers, test } from '../harness.js';

test('from: nested arrays, scalars, typed arrays, tensors; always a copy', () => {
  equal(
    Tensor.from(
      [
        [1, 2, 3],
        [4, 5, 6],
      ],
      { dtype: 'float32' },
    ).toArray(),
    [
      [1, 2, 3],
      [4, 5, 6],
    ],
  );
  equal(Tensor.from([1, 2]).dtype, 'float64');
  equal(Tensor.from([1n, 2n]).dtype, 'int64');
  equal(Tensor.from([true]).dtype, 'bool');
  equal(Tensor.from(5).shape, []);
  equal(Tensor.from([]).shape, [0]);
  equal(Tensor.from([[], []]).shape, [2, 0]);
  const source = new Float32Array([1, 2, 3, 4]);
  const copy = Tensor.from(source, { shape: [2, 2] });
  source[0] = 9;
  equal(copy.toArray(), [
    [1, 2],
    [3, 4],
  ]);
  equal(Tensor.from(source, { dtype: 'int32' }).toArray(), [9, 2, 3, 4]);
  const tensor = Tensor.from(copy.transpose());
  copy.set(0, 1, 7);
  equal(tensor.toArray(), [
    [1, 3],
    [2, 4],
  ]);
  equal(
    Tensor.from(
      [
        [1, 2],
        [3, 4],
      ],
      { dtype: 'float32x2' },
    ).shape,
    [2],
  );
});

test('from: typed rows, and hints where something else was meant', () => {
  equal(Tensor.from([new Float32Array([1, 2]), [3, 4]]).toArray(), [
    [1, 2],
    [3, 4],
  ]);
  throws('TypeError', 'spread', () => Tensor.from(new Set([1]) as never));
  throws('TypeError', 'Tensor.wrap', () => fromDLPack(new Float32Array(2) as never));
  const x = Tensor.wrap(new Float32Array(2));
  structuredClone(x.data.buffer, { transfer: [x.data.buffer as ArrayBuffer] });
  equal(String(x), 'Tensor float32 [2] cpu (its memory was taken away)');
});

test('from: values that cannot become a tensor are refused', () => {
  throws('LayoutError', 'equal length', () => Tensor.from([[1, 2], [3]]));
  throws('LayoutError', 'a value', () => Tensor.from([[1], 2]));
  throws('TypeError', 'one type', () => Tensor.from([1, 2n] as never));
  throws('TypeError', 'numbers', () => Tensor.from(['a'] as never));
  throws('TypeError', 'numbers', () => Tensor.from('a' as never));
  throws('ValueError', '0 to 255', () => Tensor.from([256], { dtype: 'uint8' }));
  throws('LayoutError', '4 elements', () => Tensor.from([1, 2, 3, 4], { shape: [3] }));
  const circular: unknown[] = [];
  circular.push(circular);
  throws('LayoutError', 'nested', () => Tensor.from(circular as never));
  // Holes are found at the first one, whatever the length says; an array of them would not fit any array of values.
  throws('TypeError', 'received undefined', () => Tensor.from(new Array(2 ** 31)));
  throws('TypeError', 'received undefined', () => Tensor.from([new Array(2 ** 31), new Array(2 ** 31)]));
  throws('TypeError', 'received undefined', () => Tensor.from(new Array(2 ** 28), { dtype: 'int8' }));
  throws('LayoutError', 'equal length 0', () => Tensor.from([[], [1]], { dtype: 'int8' }));
  throws('LayoutError', 'equal length 0', () => Tensor.from([[], [1]]));
});

test('wrap: shares both ways, with strides, offset, another dtype, a Node Buffer', () => {
  const array = new Float32Array([0, 1, 2, 3, 4, 5]);
  const x = Tensor.wrap(array, { shape: [2, 2], strides: [3, 1], byteOffset: 4 });
  equal(x.toArray(), [
    [1, 2],
    [4, 5],
  ]);
  array[4] = 40;
  equal(x.get(1, 0), 40);
  x.set(0, 0, 10);
  equal(array[1], 10);
  const bits = Tensor.wrap(new Uint16Array([0x3f80, 0xc000]), { dtype: 'bfloat16' });
  equal(bits.toArray(), [1, -2]);
  equal(Tensor.wrap(new Uint8Array(8), { dtype: 'float32' }).shape, [2]);
  equal(Tensor.wrap(new Uint8Array([0x21, 0x43]), { dtype: 'uint4' }).toArray(), [1, 2, 3, 4]);
  equal(Tensor.wrap(new ArrayBuffer(8), { dtype: 'int64' }).shape, [1]);
  equal(Tensor.wrap(new Uint8ClampedArray(4)).dtype, 'uint8');
  equal(Tensor.wrap(array.subarray(2, 4)).toArray(), [2, 3]);
  throws('TypeError', 'typed array', () => Tensor.wrap(7 as never));
  throws('TypeError', 'typed array', () => Tensor.wrap(new DataView(new ArrayBuffer(4)) as never));
  throws('BufferError', 'aligned', () => Tensor.wrap(new Uint8Array(9).subarray(1), { dtype: 'float32', shape: [2] }));
});

test('wrap: a buffer that is detached, shrunk or grown under the tensor', () => {
  const array = new Float32Array([1, 2, 3, 4]);
  const x = Tensor.wrap(array);
  structuredClone(array.buffer, { transfer: [array.buffer] });
  throws('DisposedError', 'detached', () => x.get(0));
  throws('DisposedError', 'detached', () => x.data);
  throws('DisposedError', 'detached', () => x.toArray());

  const Resizable = ArrayBuffer as unknown as new (n: number, o: object) => ArrayBuffer & { resize(n: number): void };
  const buffer = new Resizable(16, { maxByteLength: 32 });
  const y = Tensor.wrap(buffer, { dtype: 'float32', shape: [4] });
  y.set(3, 5);
  buffer.resize(8);
  throws('DisposedError', 'resized', () => y.get(0));
  buffer.resize(32);
  equal(y.get(3), 0, 'growing back gives zeros, and the tensor is usable again');

  const shared = new SharedArrayBuffer(8);
  const z = Tensor.wrap(new Int32Array(shared));
  z.set(1, 9);
  equal(new Int32Array(shared)[1], 9);
});

test('adopt: moves the memory and detaches the array', () => {
  const array = new Float32Array([1, 2, 3, 4]);
  const x = Tensor.adopt(array, { shape: [2, 2] });
  equal(array.length, 0);
  equal(x.toArray(), [
    [1, 2],
    [3, 4],
  ]);
  x.data[0] = 7;
  equal(x.get(0, 0), x.isDataCopied ? 1 : 7);
  throws('BufferError', 'SharedArrayBuffer', () => Tensor.adopt(new Int32Array(new SharedArrayBuffer(8))));
  const part = new Float32Array(8);
  throws('BufferError', 'whole buffer', () => Tensor.adopt(part.subarray(2)));
  equal(part.length, 8, 'a refused array stays the caller’s');
  const wrong = new Float32Array(8);
  throws('LayoutError', 'bytes', () => Tensor.adopt(wrong, { shape: [9] }));
  equal(wrong.length, 8);
  equal(Tensor.adopt(new Float32Array(0)).size, 0);
});

test('empty and zeros for every dtype', () => {
  for (const dtype of dtypes) {
    const x = Tensor.zeros([2, 3], dtype);
    equal([x.dtype, x.shape, x.size, x.ndim], [dtype, [2, 3], 6, 2]);
    ok([...x].every((v) => v === 0 || v === 0n || v === false || typeof v === 'object' || dtype === 'float8_e8m0fnu'));
    equal(Tensor.empty([0], dtype).size, 0);
  }
  throws('UnsupportedDeviceError', "'trn:0'", () => Tensor.empty([2], 'float32', { device: 'trn:0' }));
});

test('data: the same array after a copy was shared', () => {
  const x = fromDLPack(Tensor.from([1, 2, 3], { dtype: 'float32' }), { copy: true });
  const { data } = x;
  fromDLPack(x);
  ok(data === x.data);
});

test('data: the same memory, one array for each tensor, detached by the last dispose', () => {
  const x = Tensor.from([1, 2, 3], { dtype: 'float32' });
  const { data } = x;
  ok(data === x.data && !x.isDataCopied);
  data[1] = 9;
  equal(x.get(1), 9);
  const view = x.slice([1, null]);
  equal(view.data.byteOffset - data.byteOffset, 4);
  ok(view.data.buffer === data.buffer, 'one ArrayBuffer for each storage');
  x.dispose();
  equal(data.length, 3, 'the view still owns it');
  view.dispose();
  equal(data.length, hasExternalBuffers ? 0 : 3, 'a SharedArrayBuffer cannot be detached');
  throws(
    'LayoutError',
    'contiguous',
    () =>
      Tensor.from([
        [1, 2],
        [3, 4],
      ]).transpose().data,
  );
  equal(Tensor.zeros([0, 2], 'float32').data.length, 0);
});

test('dispose: a second call does nothing, and later use throws DisposedError', () => {
  const x = Tensor.from([1, 2, 3]);
  const view = x.view();
  equal(view instanceof Tensor, false);
  x.dispose();
  x.dispose();
  x[Symbol.dispose]();
  equal(x.isDisposed, true);
  const uses: ((t: TensorView) => unknown)[] = [
    (t) => t.shape,
    (t) => t.data,
    (t) => t.get(0),
    (t) => t.set(0, 1),
    (t) => t.toArray(),
    (t) => [...t],
    (t) => t.slice(0),
    (t) => t.view(),
  ];
  for (const use of uses) {
    throws('DisposedError', 'released', () => use(x));
    throws('DisposedError', 'released', () => use(view));
  }
  throws('DisposedError', 'released', () => fromDLPack(x));
  equal(String(x), 'Tensor(disposed)');
});

test('a tensor disposed while it is iterated throws instead of reading freed memory', () => {
  const x = Tensor.from([1, 2, 3]);
  throws('DisposedError', 'released', () => {
    for (const _ of x) x.dispose();
  });
});

test('a buffer that a program detaches during an iteration', () => {
  const array = new Float32Array([1, 2, 3]);
  const wrapped = Tensor.wrap(array)[Symbol.iterator]();
  equal(wrapped.next().value, 1);
  structuredClone(array.buffer, { transfer: [array.buffer] });
  throws('DisposedError', 'detached', () => wrapped.next());
  using own = Tensor.from([1, 2, 3]);
  const iterator = own[Symbol.iterator]();
  equal(iterator.next().value, 1);
  (own.data.buffer as { transfer?: () => void }).transfer?.();
  // Native memory still exists, and a tensor in JavaScript memory throws.
  try {
    equal([...iterator], [2, 3]);
  } catch (error) {
    ok(isDLPackError(error, 'DisposedError'), String(error));
  }
});

test('iteration: row-major order, current values, and an iterator that stays at its end', () => {
  const x = Tensor.from([
    [1, 2, 3],
    [4, 5, 6],
  ]);
  equal([...x.transpose()], [1, 4, 2, 5, 3, 6]);
  equal([...x.slice(null, [2, null, -2])], [3, 1, 6, 4]);
  equal([[...Tensor.from(7)], [...Tensor.empty([0, 3], 'int8')]], [[7], []]);
  const seen: number[] = [];
  for (const value of x) {
    seen.push(value);
    x.set(1, 2, 60);
  }
  equal(seen, [1, 2, 3, 4, 5, 60]);
  const iterator = x[Symbol.iterator]();
  for (const _ of iterator) break;
  equal(iterator.next(), { value: undefined, done: true });
  throws('TypeError', 'mine', () => x[Symbol.iterator]().throw(new ArgumentTypeError('mine', 'nothing', 1)));
});

test('questions about a tensor: isOn, isContiguous, isReadOnly', () => {
  const x = Tensor.zeros([2, 3], 'int8');
  const answers = ['cpu', 'cpu:0', 'cuda', 'cuda:1', 'webgpu:0'].map((device) => x.isOn(device as 'cpu'));
  equal(answers, [true, true, false, false, false]);
  equal(x.view().isOn('cpu'), true);
  throws('UnsupportedDeviceError', "did you mean 'cuda' or 'webgpu'", () => x.isOn('gpu' as never));
  equal([x.isContiguous, x.transpose().isContiguous, x.slice([0, 1]).isContiguous], [true, false, true]);
  equal([x.isReadOnly, Tensor.wrap(new Int8Array(2), { readonly: true }).slice([0, 1]).isReadOnly], [false, true]);
  x.dispose();
  throws('DisposedError', '', () => x.isOn('cpu'));
});

test('read-only: readable, never writable by accident', () => {
  const array = new Float32Array([1, 2]);
  const x = Tensor.wrap(array, { readonly: true });
  equal(x.isReadOnly, true);
  equal(x.toArray(), [1, 2]);
  equal([...x], [1, 2]);
  throws('ReadOnlyError', 'unsafeData', () => x.data);
  throws('ReadOnlyError', 'read-only', () => x.set(0, 5));
  ok(x.unsafeData().buffer === array.buffer);
  throws('ReadOnlyError', 'read-only', () => x.slice([0, 1]).set(0, 5));
  throws('ReadOnlyError', 'read-only', () => fromDLPack(x).set(0, 5));
  const copy = x.copy();
  copy.set(0, 5);
  equal(array[0], 1);
});

test('contiguous, copy, to, astype', () => {
  const x = Tensor.from(
    [
      [1, 2],
      [3, 4],
    ],
    { dtype: 'float32' },
  );
  const same = x.contiguous();
  same.set(0, 0, 9);
  equal(x.get(0, 0), 9, 'no copy of what is contiguous');
  const packed = x.transpose().contiguous();
  packed.set(0, 0, 5);
  equal([x.get(0, 0), packed.strides], [9, [2, 1]]);
  x.to('cpu').set(0, 0, 8);
  equal(x.get(0, 0), 8);
  throws('UnsupportedDeviceError', "'trn:0'", () => x.to('trn:0'));
  equal(x.astype('int8').toArray(), [
    [8, 2],
    [3, 4],
  ]);
  equal(x.astype('complex64').get(1, 1), { re: 4, im: 0 });
});

test('copies keep NaN payloads and every bit of packed types', () => {
  const bits = new Uint32Array([0x7fc00001, 0xffc12345, 1, 2]);
  const strided = Tensor.wrap(bits, { dtype: 'float32', shape: [2], strides: [2] }).copy();
  equal(new Uint32Array(strided.data.buffer, strided.data.byteOffset, 2)[0], 0x7fc00001);
  const packed = Tensor.wrap(new Uint8Array([0x21, 0x43, 0x65]), { dtype: 'uint4', shape: [6] });
  equal(packed.slice([1, 6, 2]).copy().toArray(), [2, 4, 6]);
  equal(packed.slice([1, 4]).toArray(), [2, 3, 4]);
  throws('LayoutError', 'on a byte', () => packed.slice([1, 3]).data);
});

test('get and set check indices and values', () => {
  const x = Tensor.from(
    [
      [1, 2],
      [3, 4],
    ],
    { dtype: 'int8' },
  );
  equal([x.get(-1, -1), x.get(0, -2)], [4, 1]);
  throws('IndexError', 'axis 1', () => x.get(0, 2));
  throws('IndexError', '2 indices', () => x.get(0));
  throws('IndexError', 'axis 0', () => x.get(0.5, 0));
  throws('IndexError', 'axis 0', () => x.get('0' as never, 0));
  throws('ValueError', '-128 to 127', () => x.set(0, 0, 128));
  throws('ValueError', '-128 to 127', () => x.set(0, 0, 1.5));
  throws('TypeError', 'an integer', () => x.set(0, 0, '1' as never));
  throws('IndexError', 'one element', () => x.item());
});

test('nothing internal can be reached or forged from outside', () => {
  const x = Tensor.from([1, 2, 3]);
  throws(
    'TypeError',
    'Tensor.from',
    () => new (Tensor as never as new (d: unknown) => Tensor)({ storage: { refs: 1 } }),
  );
  throws('TypeError', 'Tensor.from', () => new (TensorView as never as new () => TensorView)());
  equal(Object.keys(x), ['notCloneable']);
  equal(Object.isFrozen(x.shape) && Object.isFrozen(x.strides), true);
  Object.assign(x, { shape2: 1 });
  let failure: unknown;
  try {
    (x.shape as number[])[0] = 1e9;
  } catch (error) {
    failure = error;
  }
  ok(failure instanceof TypeError);
  equal(x.shape, [3]);
  notEqual(x.dtype, 'float32' as DType);
});

test('a tensor without elements can be written whatever its strides are', () => {
  const x = Tensor.zeros([1, 0], 'int8').broadcastTo([3, 0]);
  equal([x.size, x.strides[0]], [0, 0]);
  x.fill(1);
  x.copyFrom(Tensor.zeros([3, 0], 'float32'));
  const repeated = Tensor.zeros([1, 1], 'int8').broadcastTo([3, 1]);
  throws('LayoutError', 'several indices share one', () => repeated.copyFrom(Tensor.zeros([3, 1], 'int8')));
});
