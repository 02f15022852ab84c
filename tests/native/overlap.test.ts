import { expectTensor, Tensor } from 'dlpack';
import { exportManaged, importManaged } from 'dlpack/native';
import { equal } from '../assert.js';
import { test } from '../harness.js';

const N = 10_000;
const iota = (array = new Float32Array(N)) => array.map((_, i) => i);
const fill = (array: Float32Array) => {
  array.set(iota());
  return array;
};
const reversed = Array.from({ length: N }, (_, i) => N - 1 - i);
const again = (x: Tensor) => expectTensor(importManaged(exportManaged(x)), { dtype: 'float32' });

/** Pairs of tensors over one memory: target and source. */
const pairs: Record<string, () => [target: Tensor<'float32'>, source: Tensor<'float32'>]> = {
  'a tensor and itself': () => {
    const x = Tensor.from(iota());
    return [x, x];
  },
  'a tensor and its import': () => {
    const x = Tensor.from(iota());
    return [x, again(x)];
  },
  'a tensor and Tensor.wrap of its data': () => {
    const x = Tensor.from(iota());
    return [x, Tensor.wrap(x.data)];
  },
  'Tensor.wrap of data and the tensor': () => {
    const x = Tensor.from(iota());
    return [Tensor.wrap(x.data), x];
  },
  'Tensor.wrap of the data of an import and the tensor': () => {
    const x = Tensor.from(iota());
    return [Tensor.wrap(again(x).data), x];
  },
  'two arrays over one buffer': () => {
    const array = fill(new Float32Array(N));
    return [Tensor.wrap(array), Tensor.wrap(new Float32Array(array.buffer))];
  },
  'a wrapped SharedArrayBuffer and its import': () => {
    const x = Tensor.wrap(fill(new Float32Array(new SharedArrayBuffer(4 * N))));
    return [x, again(x)];
  },
  'two SharedArrayBuffer objects over one memory': () => {
    const buffer = new SharedArrayBuffer(4 * N);
    return [Tensor.wrap(fill(new Float32Array(buffer))), Tensor.wrap(new Float32Array(structuredClone(buffer)))];
  },
  'an adopted tensor and Tensor.wrap of its data': () => {
    const x = Tensor.adopt(iota());
    return [x, Tensor.wrap(x.data)];
  },
};

for (const [name, make] of Object.entries(pairs)) {
  test(`copyFrom reads first when the memory overlaps: ${name}`, () => {
    const [target, source] = make();
    target.copyFrom(source.flip());
    equal(target.toArray(), reversed);
    // Parts that overlap, another dtype, and rows that are repeated.
    const [into, from] = make();
    into.slice([1, null]).copyFrom(from.slice([0, -1]));
    equal(into.toArray(), [0, ...iota().slice(0, -1)]);
    const [rows, row] = make();
    rows.reshape([2, N / 2]).copyFrom(row.slice([N / 2, null]));
    equal([rows.get(0), rows.get(N / 2)], [N / 2, N / 2]);
  });
}

test('memory that does not overlap is copied without a temporary copy', () => {
  const x = Tensor.from(iota());
  const y = Tensor.wrap(new Float32Array(N));
  y.copyFrom(x.flip());
  equal(y.toArray(), reversed);
  Tensor.empty([0], 'float32').copyFrom(Tensor.wrap(new Float32Array(0)));
});
