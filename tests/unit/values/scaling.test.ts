/** astype with a scale and an offset: the arithmetic, and what it refuses. */

import { equal, throws } from '../../assert.js';
import { cores } from '../../cores.js';
import { test } from '../../harness.js';

for (const [name, { Tensor }] of cores) {
  test(`${name}: the result is x * scale + offset`, () => {
    const x = Tensor.from(
      [
        [0, 128],
        [255, 1],
      ],
      { dtype: 'uint8' },
    );
    equal(x.astype('float64', { scale: 0.5, offset: -1 }).toArray(), [
      [-1, 63],
      [126.5, -0.5],
    ]);
    equal(x.astype('float64', { offset: 2 }).toArray(), [
      [2, 130],
      [257, 3],
    ]);
    equal(x.astype('float32', { scale: [1, 10], axis: -1 }).toArray(), [
      [0, 1280],
      [255, 10],
    ]);
    equal(x.astype('float32', { scale: [1, 10], offset: 1, axis: 0 }).toArray(), [
      [1, 129],
      [2551, 11],
    ]);
    equal(x.astype('float32', {}).toArray(), [
      [0, 128],
      [255, 1],
    ]);
    equal(Tensor.from([1.6, -3, 300]).astype('uint8', { scale: 2 }).toArray(), [3, 0, 255]);
    equal(Tensor.zeros([0, 3], 'uint8').astype('float32', { scale: [1, 2, 3], axis: 1 }).shape, [0, 3]);
    equal(Tensor.from(5).astype('float32', { scale: 2 }).toArray(), 10);
  });

  test(`${name}: a product and a sum are rounded once each, as float32 or float64`, () => {
    const x = Tensor.from([3], { dtype: 'float32' });
    const third = 1 / 3;
    equal(
      x.astype('float32', { scale: third, offset: -1 }).get(0),
      Math.fround(Math.fround(3 * Math.fround(third)) - 1),
    );
    equal(x.astype('float64', { scale: third, offset: -1 }).get(0), 3 * third - 1);
    const large = Tensor.from([2 ** 31 - 1], { dtype: 'int32' });
    equal(large.astype('float64', { scale: 1, offset: 0.5 }).get(0), 2 ** 31 - 0.5);
  });

  test(`${name}: factors that do not fit throw`, () => {
    const x = Tensor.zeros([2, 3], 'uint8');
    const astype = (options: object) => x.astype('float32', options);
    throws('TypeError', "did you mean 'scale'", () => astype({ scales: 2 }));
    throws('TypeError', 'the axis of the scales', () => astype({ scale: [1, 2, 3] }));
    throws('LayoutError', 'Expected 3 numbers in scale, one for each position on axis 1, but received 2', () =>
      astype({ scale: [1, 2], axis: 1 }),
    );
    throws('IndexError', 'an axis from -2 to 1', () => astype({ scale: [1, 2], axis: 2 }));
    throws('IndexError', 'an axis from -2 to 1', () => astype({ scale: 1, axis: 5 }));
    throws('TypeError', 'a number or an array of numbers', () => astype({ scale: '2' as unknown as number, axis: 0 }));
    for (const wrong of ['2', 2n, null, true]) {
      throws('TypeError', 'a number or an array of numbers for scale', () => astype({ scale: wrong }));
      throws('TypeError', 'a number or an array of numbers for offset', () => astype({ offset: wrong }));
    }
    throws('ValueError', 'offset[1]', () => astype({ offset: [1, '2'] as unknown as number[], axis: 0 }));
    throws('TypeError', 'a scale or an offset for the axis', () => astype({ axis: 0 }));
    throws('UnsupportedDTypeError', 'real dtypes', () => x.astype('complex64', { scale: 2 }));
    const bits = Tensor.zeros([2, 3], 'float128');
    throws('UnsupportedDTypeError', "received 'float128'", () => bits.astype('float128', { scale: 2 }));
  });
}
