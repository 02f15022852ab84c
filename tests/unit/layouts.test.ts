import { DLPACK, fromDLPack, Tensor } from 'dlpack';
import { cpu } from '../../src/device.js';
import { dtypeFromName } from '../../src/dtype.js';
import { findLayout } from '../../src/storage/layouts.js';
import { equal, ok } from '../assert.js';
import { test } from '../harness.js';

const float32 = dtypeFromName('float32');
const float64 = dtypeFromName('float64');

test('equal layouts are one object, whatever arrays describe them', () => {
  const first = findLayout(float32, cpu, [2, 3], [3, 1], 0);
  ok(findLayout(float32, cpu, [2, 3], [3, 1], 0) === first);
  for (const other of [
    findLayout(float64, cpu, [2, 3], [3, 1], 0),
    findLayout(float32, cpu, [3, 2], [3, 1], 0),
    findLayout(float32, cpu, [2, 3], [1, 2], 0),
    findLayout(float32, cpu, [2, 3], [3, 1], 1),
    findLayout(float32, cpu, [2, 3, 1], [3, 1, 1], 0),
  ]) {
    ok(other !== first);
  }
});

test('a layout knows what follows from it', () => {
  const { size, nbytes, isContiguous, reach } = findLayout(float32, cpu, [2, 3], [3, 1], 0);
  equal([size, nbytes, isContiguous, reach], [6, 24, true, { low: 0, high: 192 }]);
  const flipped = findLayout(float32, cpu, [2, 3], [-3, 2], 0);
  equal([flipped.isContiguous, flipped.reach], [false, { low: -96, high: 160 }]);
  equal(findLayout(float32, cpu, [0, 3], [3, 1], 0).reach, { low: 0, high: 0 });
});

test('tensors keep their layouts when there are more of them than the table has places', () => {
  const tensors = Array.from({ length: 10_000 }, (_, i) =>
    Tensor.wrap(new Float32Array(1), { shape: [1, 1, 1] })
      .reshape([1])
      .broadcastTo([i, 1]),
  );
  tensors.forEach((tensor, i) => {
    equal(tensor.shape, [i, 1]);
    equal([tensor.size, tensor.strides[0]], [i, 0]);
  });
});

test('the arrays of shape and strides are frozen', () => {
  const { shape, strides } = Tensor.wrap(new Float32Array(6), { shape: [2, 3] });
  ok(Object.isFrozen(shape) && Object.isFrozen(strides));
});

test('a copy with one owner loses its flag when it is shared, and its views never have it', () => {
  const source = Tensor.from([1, 2]);
  const copies = Array.from({ length: 4 }, () => fromDLPack(source, { copy: true })) as [
    Tensor,
    Tensor,
    Tensor,
    Tensor,
  ];
  const [seen, shared, asked, copied] = copies;
  equal([seen.view().isCopied, seen.slice([0, 1]).isCopied, seen.isCopied], [false, false, true]);
  const twin = fromDLPack(shared);
  equal([twin.isCopied, shared.isCopied], [false, false]);
  equal([asked[DLPACK]() === null, asked.isCopied], [false, false]);
  equal([copied[DLPACK]({ copy: true }) === null, copied.isCopied], [false, true]);
});
