import { type DType, Tensor, type TensorView } from 'dlpack';
import { equal, ok, throws } from '../assert.js';
import { test } from '../harness.js';

const a = () =>
  Tensor.from(
    [
      [1, 2, 3],
      [4, 5, 6],
    ],
    { dtype: 'float32' },
  );
const b = () => Tensor.from([[7, 8, 9]], { dtype: 'float32' });

test('stack: a new axis, anywhere', () => {
  const x = Tensor.from([1, 2]);
  const y = Tensor.from([3, 4]);
  const rows = Tensor.stack([x, y]);
  equal(rows.toArray(), [
    [1, 2],
    [3, 4],
  ]);
  equal(rows.isContiguous, true);
  x.set(0, 9);
  equal(rows.get(0, 0), 1, 'a copy');
  for (const axis of [1, -1]) {
    equal(Tensor.stack([x, y], { axis }).toArray(), [
      [9, 3],
      [2, 4],
    ]);
  }
  equal(Tensor.stack([a(), a(), a()], { axis: 1 }).shape, [2, 3, 3]);
  equal(Tensor.stack([Tensor.from(1), Tensor.from(2)]).toArray(), [1, 2]);
  equal(Tensor.stack([x.view()]).shape, [1, 2]);
});

test('concat: along an axis whose lengths may differ', () => {
  const joined = Tensor.concat([a(), b()]);
  equal(joined.toArray(), [
    [1, 2, 3],
    [4, 5, 6],
    [7, 8, 9],
  ]);
  equal(joined.dtype, 'float32');
  equal(Tensor.concat([a(), a().slice(null, [0, 1])], { axis: -1 }).toArray(), [
    [1, 2, 3, 1],
    [4, 5, 6, 4],
  ]);
  equal(Tensor.concat([a().slice([0, 0]), b(), a().slice([0, 0])]).toArray(), [[7, 8, 9]]);
  equal(Tensor.concat([Tensor.empty([0], 'int8'), Tensor.empty([0], 'int8')]).shape, [0]);
});

/** Any strides, and elements of several lanes, of two parts and below a byte. */
const dtypes: DType[] = ['uint8', 'int4', 'uint1', 'float6_e2m3fn', 'bfloat16', 'int64', 'complex64', 'float32x2'];
for (const dtype of dtypes) {
  test(`${dtype}: parts with any strides, on any axis`, () => {
    const values = Array.from({ length: 15 }, (_, i) => i % 2);
    const x = Tensor.from(values, { dtype: 'uint8' }).copy();
    const whole =
      dtype === 'float32x2'
        ? Tensor.from(
            values.map((value) => [value, value]),
            { dtype, shape: [3, 5] },
          )
        : (x.astype(dtype).reshape([3, 5]) as Tensor);
    const parts: Tensor[] = [whole, whole.flip() as Tensor, whole.slice(null, [null, null, -1]) as Tensor];
    for (const axis of [0, 1]) {
      const stacked = Tensor.stack(parts, { axis });
      const joined = Tensor.concat(parts, { axis });
      for (const [i, part] of parts.entries()) {
        const [n = 0, m = 0] = part.shape;
        ok(stacked.slice(...(axis === 0 ? [i] : [null, i])).equals(part), `part ${i} stacked on axis ${axis}`);
        const range = axis === 0 ? [[i * n, i * n + n] as const] : [null, [i * m, i * m + m] as const];
        ok(joined.slice(...range).equals(part), `part ${i} joined on axis ${axis}`);
      }
    }
  });
}

test('out: the elements go into given memory of any strides and dtype, which is the result', () => {
  const memory = Tensor.zeros([3, 4], 'int16');
  const out = memory.slice([null, null, -1], [1, 4]);
  const joined = Tensor.concat([a(), b()], { out });
  ok(joined === out, 'the result is out');
  equal(memory.toArray(), [
    [0, 7, 8, 9],
    [0, 4, 5, 6],
    [0, 1, 2, 3],
  ]);
  const view: TensorView<'int16'> = Tensor.stack([a(), a()], { out: Tensor.zeros([2, 2, 3], 'int16') }).view();
  equal(view.get(1, 1, 2), 6);
});

test('out: it may share memory with the parts', () => {
  const x = Tensor.from([1, 2, 3, 4, 5, 6]);
  Tensor.concat([x.slice([3, 6]), x.slice([0, 3])], { out: x });
  equal(x.toArray(), [4, 5, 6, 1, 2, 3]);
  const shared = Tensor.wrap(x.data);
  Tensor.concat([shared.slice([3, 6]), shared.slice([0, 3])], { out: x });
  equal(x.toArray(), [1, 2, 3, 4, 5, 6]);
});

test('a dtype for tensors of several', () => {
  const parts = [Tensor.from([1]), Tensor.from([2n])];
  throws('UnsupportedDTypeError', "'float64' and 'int64'; name the result's", () => Tensor.stack(parts));
  const joined: Tensor<'int8'> = Tensor.concat(parts, { dtype: 'int8' });
  equal([joined.dtype, joined.toArray()], ['int8', [1, 2]]);
});

test('errors say which tensor does not fit', () => {
  const x = Tensor.from([1, 2]);
  throws('ValueError', 'at least one tensor', () => Tensor.stack([]));
  throws('TypeError', 'an array of tensors such as [x, y]', () => Tensor.stack(x as never));
  throws('TypeError', 'tensors[1]', () => Tensor.stack([x, [1, 2] as never]));
  throws('TypeError', 'Tensor.wrap', () => Tensor.concat([new Float32Array(2) as never]));
  throws('LayoutError', 'equal shapes but received [2] and [3]', () => Tensor.stack([x, Tensor.from([1, 2, 3])]));
  throws('LayoutError', 'differ only on axis 1 but received [2, 3] and [1, 3]', () =>
    Tensor.concat([a(), b()], { axis: 1 }),
  );
  throws('LayoutError', 'join them with stack', () => Tensor.concat([Tensor.from(1)]));
  throws('IndexError', 'from -2 to 1', () => Tensor.stack([x], { axis: 2 }));
  throws('IndexError', 'from -1 to 0', () => Tensor.concat([x], { axis: 1 }));
  throws('TypeError', "did you mean 'axis'", () => Tensor.stack([x], { axes: 1 } as never));
  throws('TypeError', 'out, or dtype and device', () => Tensor.stack([x], { out: x, dtype: 'int8' } as never));
  throws('LayoutError', 'shape [1, 2] for out but received [2]', () => Tensor.stack([x], { out: x }));
  throws('TypeError', 'for out', () => Tensor.stack([x], { out: new Float64Array(2) as never }));
  const fixed = Tensor.wrap(new Float64Array(2), { shape: [1, 2], readonly: true });
  throws('ReadOnlyError', 'out', () => Tensor.stack([x], { out: fixed }));
  throws('LayoutError', 'several indices share one', () =>
    Tensor.stack([x, x], { out: x.expandDims(0).broadcastTo([2, 2]) }),
  );
});

test('a getter that disposes a tensor is an error, not a read of freed memory', () => {
  const x = Tensor.from([1, 2]);
  const options = {
    get axis() {
      x.dispose();
      return 0;
    },
  };
  throws('DisposedError', '', () => Tensor.stack([x, x], options));
  const y = Tensor.from([1, 2]);
  const list = [y, y];
  Object.defineProperty(list, 1, {
    get() {
      y.dispose();
      return Tensor.from([3, 4]);
    },
  });
  throws('DisposedError', '', () => Tensor.stack(list));
});

test('full and arange', () => {
  equal(Tensor.full([2, 2], 7, 'float32').toArray(), [
    [7, 7],
    [7, 7],
  ]);
  equal(Tensor.full([], 5n, 'int64').item(), 5n);
  equal(Tensor.full([3], -1, 'int4').toArray(), [-1, -1, -1]);
  equal(Tensor.full([0], 1, 'int8').shape, [0]);
  throws('ValueError', '-128 to 127', () => Tensor.full([2], 200, 'int8'));

  equal(Tensor.arange(4, 'int32').toArray(), [0, 1, 2, 3]);
  equal(Tensor.arange(5, 'int64', { start: 2 }).toArray(), [2n, 3n, 4n]);
  equal(Tensor.arange(0, 'float32', { start: 1, step: -0.25 }).toArray(), [1, 0.75, 0.5, 0.25]);
  equal(Tensor.arange(1, 'float32', { step: 0.1 }).get(9), Math.fround(0.9), 'rounded once, where NumPy rounds twice');
  equal(Tensor.arange(-8, 'int4', { start: 7, step: -5 }).toArray(), [7, 2, -3]);
  equal(Tensor.arange(0, 'uint8').shape, [0]);
  equal(Tensor.arange(-3, 'uint8').shape, [0]);
  throws('ValueError', 'other than zero', () => Tensor.arange(3, 'int32', { step: 0 }));
  throws('ValueError', 'a finite number', () => Tensor.arange(Number.POSITIVE_INFINITY, 'int32'));
  throws('TypeError', 'a number', () => Tensor.arange(3n as never, 'int64'));
  throws('ValueError', '0 to 255', () => Tensor.arange(257, 'uint8'));
  throws('ValueError', 'an integer', () => Tensor.arange(2, 'int32', { step: 0.5 }));
  throws('ValueError', '2^53 - 1', () => Tensor.arange(2 ** 54, 'int64', { start: 2 ** 53, step: 2 }));
  throws('TypeError', "did you mean 'start'", () => Tensor.arange(2, 'int32', { star: 1 } as never));
});

test('full and arange: out receives the elements and is the result', () => {
  const memory = Tensor.zeros([2, 6], 'int16');
  const even = memory.slice(0, [null, null, 2]);
  const range: Tensor<'int16'> = Tensor.arange(9, 'int16', { start: 3, step: 2, out: even });
  ok(range === even, 'the result is out');
  const odd = memory.slice(1, [1, null, 2]);
  ok(Tensor.full([3], -1, 'int16', { out: odd }) === odd, 'the result is out');
  equal(memory.toArray(), [
    [3, 0, 5, 0, 7, 0],
    [0, -1, 0, -1, 0, -1],
  ]);
  const view: TensorView<'int16'> = Tensor.arange(6, 'int16', { out: memory.view().slice(1) });
  equal(view.toArray(), [0, 1, 2, 3, 4, 5]);
  equal(Tensor.full([0], 1, 'int8', { out: Tensor.empty([0], 'int8') }).shape, [0]);

  throws('LayoutError', 'shape [2] for out but received [3]', () => Tensor.full([2], 1, 'int16', { out: odd }));
  throws('LayoutError', 'shape [2] for out but received [3]', () => Tensor.arange(2, 'int16', { out: odd }));
  const wrong = odd as never;
  throws('UnsupportedDTypeError', "'int8' for out but received 'int16'", () =>
    Tensor.full([3], 1, 'int8', { out: wrong }),
  );
  throws('UnsupportedDTypeError', "'int8' for out but received 'int16'", () =>
    Tensor.arange(3, 'int8', { out: wrong }),
  );
  throws('ValueError', '-32768 to 32767', () => Tensor.full([3], 2 ** 20, 'int16', { out: odd }));
  throws('TypeError', 'for out', () => Tensor.full([3], 1, 'int16', { out: [1, 2, 3] as never }));
  throws('TypeError', "received 'device'", () => Tensor.full([3], 1, 'int16', { out: odd, device: 'cpu' } as never));
  throws('TypeError', "received 'device'", () => Tensor.arange(3, 'int16', { out: odd, device: 'cpu' } as never));
  const fixed = Tensor.wrap(new Int16Array(3), { readonly: true });
  throws('ReadOnlyError', 'out', () => Tensor.full([3], 1, 'int16', { out: fixed }));
  throws('LayoutError', 'several indices share one', () =>
    Tensor.arange(2, 'int16', { out: Tensor.zeros([1], 'int16').broadcastTo([2]) as never }),
  );
  equal(memory.slice(1).toArray(), [0, 1, 2, 3, 4, 5], 'nothing is written before an error');
});
