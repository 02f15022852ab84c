import { Tensor } from 'dlpack';
import { equal } from '../assert.js';
import { test } from '../harness.js';

test('a head line and aligned rows', () => {
  equal(
    String(
      Tensor.from(
        [
          [1, 20],
          [-3, 4.5],
        ],
        { dtype: 'float32' },
      ),
    ),
    'Tensor float32 [2, 2] cpu\n[[ 1. , 20. ],\n [-3. ,  4.5]]',
  );
  equal(String(Tensor.from(7n)), 'Tensor int64 [] cpu\n7');
  equal(String(Tensor.zeros([0, 2], 'int8')), 'Tensor int8 [0, 2] cpu\n[]');
  equal(String(Tensor.wrap(new Uint8Array([1]), { readonly: true }).view()), 'TensorView uint8 [1] cpu read-only\n[1]');
});

test('numbers with further digits than they need, and numbers at the limits of plain digits, print as in NumPy', () => {
  const bodies = [
    ['float64', [5e-324, 1e-323, 1.23456789e-300], '[4.94065646e-324, 9.88131292e-324, 1.23456789e-300]'],
    ['float32', [3e-45, 1.2345678e-30], '[2.8025969e-45, 1.2345678e-30]'],
    ['float16', [3e-7, 1.25e-6], '[2.98e-07, 1.25e-06]'],
    ['float16', [146.25], '[146.2]'], // a tie between two texts of the same length
    ['float16', [0.015625], '[0.01563]'], // a tie of which only one text converts back
    ['float16', [0.015625, 3e-5], '[1.563e-02, 2.998e-05]'],
    ['float16', [0.1, 100], '[  0.1, 100. ]'], // the ratio is 1000 in float16
    ['float32', [1e-4], '[0.0001]'], // below 1e-4 in float64
  ] as const;
  for (const [dtype, values, body] of bodies) {
    equal(String(Tensor.from(values, { dtype })), `Tensor ${dtype} [${values.length}] cpu\n${body}`);
  }
});

test('many short axes, and many lanes, print all of their elements', () => {
  for (const [shape, dtype] of [
    [[6, 6, 6, 6, 6, 6, 6], 'float32'],
    [new Array<number>(17).fill(2), 'int32'],
    [[3], 'float32x65535'],
  ] as const) {
    const text = String(Tensor.zeros(shape, dtype));
    equal(text.startsWith(`Tensor ${dtype} [${shape.join(', ')}] cpu\n[`), true);
    equal(text.split('0').length > 131_072, true, dtype);
  }
});

test('JSON has the values', () => {
  const text = JSON.stringify({
    x: Tensor.from([[1.5], [2]]),
    n: Tensor.from([1n, 2n ** 60n]),
    z: Tensor.from({ re: 1, im: 2 }),
    b: Tensor.from([true]).view(),
    nan: Tensor.from([Number.NaN]),
  });
  equal(text, '{"x":[[1.5],[2]],"n":[1,"1152921504606846976"],"z":{"re":1,"im":2},"b":[true],"nan":[null]}');
});

test('large tensors are summarised', () => {
  const text = String(Tensor.zeros([2000], 'int8'));
  equal(text, 'Tensor int8 [2000] cpu\n[0, 0, 0, ..., 0, 0, 0]');
});
