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

test('large tensors are summarised', () => {
  const text = String(Tensor.zeros([2000], 'int8'));
  equal(text, 'Tensor int8 [2000] cpu\n[0, 0, 0, ..., 0, 0, 0]');
});
