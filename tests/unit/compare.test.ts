/** `equals`, `allClose` and what other tools see of a tensor. */

import { deepEqual, deepStrictEqual, notDeepEqual, notDeepStrictEqual } from 'node:assert';
import { type DType, dtypes, Tensor, TensorView } from 'dlpack';
import { equal, ok, throws } from '../assert.js';
import { runtime, test } from '../harness.js';

const from = (values: unknown, dtype: DType): Tensor => Tensor.from(values as number[], { dtype });

test('equals: dtype, shape and values of every dtype', () => {
  for (const dtype of dtypes) {
    const make = (bits: number): Tensor => {
      const bytes = new Uint8Array(Tensor.zeros([2, 3], dtype, { padded: false }).nbytes);
      bytes[0] = bits;
      return Tensor.wrap(bytes, { dtype, shape: [2, 3] });
    };
    ok(make(0).equals(make(0)), dtype);
    equal(make(1).equals(make(1)), true, dtype);
    equal(make(1).equals(make(0)), false, dtype);
    equal(make(0).equals(make(0).transpose()), false, `${dtype}: another shape`);
    ok(make(1).transpose().equals(make(1).transpose().copy()), `${dtype}: other strides`);
    equal(make(1).flip().equals(make(1)), false, `${dtype}: negative strides`);
    const other: DType = dtype === 'int8' ? 'uint8' : 'int8';
    equal(make(0).equals(Tensor.zeros([2, 3], other)), false, `${dtype} and ${other}`);
  }
});

test('equals: NaN is equal to NaN, and zero to negative zero', () => {
  for (const dtype of ['float64', 'float32', 'float16', 'bfloat16', 'float8_e5m2'] as const) {
    const x = from([Number.NaN, 0, Number.POSITIVE_INFINITY], dtype);
    const y = from([Number.NaN, -0, Number.POSITIVE_INFINITY], dtype);
    ok(x.equals(y) && x.equals(x), dtype);
    ok(x.flip().equals(y.flip()), `${dtype}: strided`);
    equal(x.equals(from([Number.NaN, -0, Number.NEGATIVE_INFINITY], dtype)), false, dtype);
    equal(x.equals(from([1, 0, Number.POSITIVE_INFINITY], dtype)), false, dtype);
  }
  const bits = Tensor.wrap(new Uint32Array([0x7fc00000, 0xffc00001]));
  const nan = Tensor.wrap(new Float32Array(bits.data.buffer));
  ok(nan.slice([0, 1]).equals(nan.slice([1, 2])), 'another NaN');
  ok(Tensor.from([{ re: Number.NaN, im: -0 }]).equals(Tensor.from([{ re: Number.NaN, im: 0 }])));
  equal(Tensor.from([{ re: 1, im: 2 }]).equals(Tensor.from([{ re: 1, im: 3 }])), false);
});

test('equals: elements of a byte each or packed, scalars, empty tensors and views', () => {
  const packed = from([1, 2, 3], 'int4');
  const padded = Tensor.empty([3], 'int4', { padded: true });
  padded.copyFrom(packed);
  ok(packed.equals(padded) && padded.equals(packed));
  padded.set(2, 4);
  equal(padded.equals(packed), false);
  ok(
    from([7, 1, 2], 'int4')
      .slice([1, 3])
      .equals(packed.slice([0, 2])),
    'packed elements inside a byte',
  );
  ok(Tensor.from(5).equals(Tensor.from(5)) && !Tensor.from(5).equals(Tensor.from([5])));
  ok(Tensor.zeros([0, 2], 'int8').equals(Tensor.zeros([0, 2], 'int8')));
  equal(Tensor.zeros([0, 2], 'int8').equals(Tensor.zeros([2, 0], 'int8')), false);
  ok(packed.view().equals(packed));
  ok(
    Tensor.from([1])
      .broadcastTo([3])
      .equals(Tensor.from([1, 1, 1])),
  );
  equal(Tensor.from([2n ** 63n - 1n]).equals(Tensor.from([2n ** 63n - 2n])), false);
  const lanes = Tensor.from([[1, 2], [3, 4]], { dtype: 'float32x2' }); // biome-ignore format: a table
  ok(lanes.equals(lanes.copy()) && !lanes.equals(lanes.flip()));
});

test('equals and allClose: other values, disposed tensors and wrong options', () => {
  const x = Tensor.from([1, 2]);
  throws('TypeError', 'a tensor (Tensor.wrap', () => x.equals([1, 2] as never));
  throws('TypeError', 'for other', () => x.allClose(null as never));
  throws('TypeError', "did you mean 'rtol'", () => x.allClose(x, { rTol: 1 } as never));
  throws('ValueError', 'zero or more', () => x.allClose(x, { atol: -1 }));
  throws('ValueError', 'zero or more', () => x.allClose(x, { rtol: Number.NaN }));
  throws('UnsupportedDTypeError', 'equals()', () => x.allClose(Tensor.zeros([2], 'float128')));
  const y = x.copy();
  y.dispose();
  throws('DisposedError', '', () => x.equals(y));
  throws('DisposedError', '', () => y.allClose(x));
});

test('allClose: the rule of NumPy', () => {
  const x = Tensor.from([1, 100, 0]);
  ok(x.allClose(Tensor.from([1.00001, 100.001, 1e-8])));
  equal(x.allClose(Tensor.from([1.0001, 100, 0])), false);
  ok(x.allClose(Tensor.from([1.0001, 100, 0]), { rtol: 1e-3 }));
  equal(x.allClose(Tensor.from([1, 100, 0.5]), { atol: 0.4 }), false);
  ok(x.allClose(Tensor.from([1, 100, 0.5]), { atol: 0.5 }));
  ok(Tensor.from([10]).allClose(Tensor.from([11]), { rtol: 1 / 11, atol: 0 }), 'relative to the other tensor');
  equal(Tensor.from([11]).allClose(Tensor.from([10]), { rtol: 1 / 11, atol: 0 }), false);
  const infinity = Tensor.from([Number.POSITIVE_INFINITY]);
  ok(infinity.allClose(infinity.copy()));
  equal(infinity.allClose(Tensor.from([1e308]), { rtol: 1 }), false);
  equal(Tensor.from([1e308]).allClose(infinity, { rtol: 1 }), false);
  equal(infinity.allClose(Tensor.from([Number.NEGATIVE_INFINITY]), { rtol: 1 }), false);
  const nan = Tensor.from([Number.NaN]);
  equal([nan.allClose(nan), nan.allClose(nan, { equalNaN: true })], [false, true]);
  equal(nan.allClose(Tensor.from([1]), { equalNaN: true, rtol: 1 }), false);
});

test('allClose: dtypes may differ, shapes and lanes may not', () => {
  ok(Tensor.from([1, 2]).allClose(from([1, 2], 'int8')));
  ok(from([0.1], 'float16').allClose(Tensor.from([0.1]), { rtol: 1e-3 }));
  ok(Tensor.from([true]).allClose(Tensor.from([1])));
  ok(Tensor.from([2n ** 60n]).allClose(Tensor.from([2n ** 60n + 1n]), { rtol: 0, atol: 1 }));
  equal(Tensor.from([2n ** 60n]).allClose(Tensor.from([2n ** 60n + 2n]), { rtol: 0, atol: 1 }), false);
  ok(Tensor.from([{ re: 3, im: 4 }]).allClose(Tensor.from([{ re: 3, im: 4.5 }]), { rtol: 0.1 }));
  ok(Tensor.from([{ re: 3, im: 0 }]).allClose(Tensor.from([3])));
  equal(Tensor.from([1, 2]).allClose(Tensor.from([[1, 2]])), false);
  equal(Tensor.from([1, 2]).allClose(Tensor.from([[1, 2]], { dtype: 'float64x2' })), false);
});

test('assert sees the dtype, the shape and the values of tensors', () => {
  const x = Tensor.from([[1, 2], [3, 4]]); // biome-ignore format: a table
  const different = [
    x.astype('float32'),
    x.reshape([4]),
    x.transpose(),
    Tensor.from([[1, 2], [3, 5]]), // biome-ignore format: a table
    Tensor.zeros([200, 200], 'float64'),
  ];
  deepStrictEqual(x, x.copy());
  deepStrictEqual({ a: [x.transpose()] }, { a: [x.transpose().copy()] });
  for (const y of different) {
    notDeepStrictEqual(x, y);
    notDeepStrictEqual(new Map([['a', x]]), new Map([['a', y]]));
  }
  deepEqual(x, x.copy());
  // Bun's deepEqual looks at properties alone.
  if (runtime !== 'bun') for (const y of different) notDeepEqual(x, y);
  const large = Tensor.zeros([200, 200], 'float64');
  deepStrictEqual(large, large);
  notDeepStrictEqual(large, large.copy(), 'not read, so not equal');
});

test('Object.prototype.toString never throws, and is the same for equal values', () => {
  const tag = (value: unknown): string => Object.prototype.toString.call(value);
  ok(/^\[object Tensor float64 \[2\] [0-9a-f]{16}\]$/.test(tag(Tensor.from([1, 2]))), tag(Tensor.from([1, 2])));
  equal(tag(Tensor.from([Number.NaN, 0])), tag(Tensor.from([Number.NaN, -0])));
  for (const dtype of dtypes) {
    const x = Tensor.zeros([3], dtype);
    equal(tag(x), tag(x.copy()), dtype);
  }
  const y = Tensor.from([1]);
  y.dispose();
  equal(tag(y), '[object Tensor]');
  equal([tag(Tensor.prototype), tag(TensorView.prototype)], ['[object Tensor]', '[object Tensor]']);
  ok(tag(new Proxy(Tensor.from([1]), {})).startsWith('[object Tensor'));
  const array = new Uint8Array(1);
  const wrapped = Tensor.wrap(array);
  structuredClone(array, { transfer: [array.buffer] });
  equal(tag(wrapped), '[object Tensor uint8 [1]]');
});

test('a tensor cannot be cloned or posted', () => {
  const { port1, port2 } = new MessageChannel();
  try {
    for (const x of [Tensor.from([1]), Tensor.from([1]).view()]) {
      for (const clone of [() => structuredClone(x), () => structuredClone({ a: [x] }), () => port1.postMessage(x)]) {
        let name = '';
        try {
          clone();
        } catch (error) {
          name = (error as Error).name;
          if (runtime !== 'bun') ok((error as Error).message.includes('shareTensor'), (error as Error).message);
        }
        equal(name, 'DataCloneError');
      }
    }
  } finally {
    port1.close();
    port2.close();
  }
});
