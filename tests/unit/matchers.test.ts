/** The matchers themselves. tests/bundlers runs them in Jest and Vitest. */

import { Tensor } from 'dlpack';
import { equalityTesters, matchers } from 'dlpack/matchers';
import { equal, ok, throws } from '../assert.js';
import { test } from '../harness.js';

const { toEqualTensor, toBeCloseToTensor } = matchers;
const x = Tensor.from([[1, 2, 3], [4, 5, 6]], { dtype: 'float32' }); // biome-ignore format: a table

test('toEqualTensor tells the first difference', () => {
  equal(toEqualTensor(x, x.copy()).pass, true);
  ok(toEqualTensor(x, x.copy()).message().startsWith('Expected a tensor that is not equal to\nTensor'));
  const changed = x.copy();
  changed.set(1, 0, 7);
  const differences: [Tensor, string][] = [
    [changed, 'with 4 at [1, 0] instead of 7 at [1, 0]'],
    [x.astype('int8'), 'with dtype float32 instead of dtype int8'],
    [x.transpose(), 'with shape [2, 3] instead of shape [3, 2]'],
  ];
  for (const [y, text] of differences) {
    const { pass, message } = toEqualTensor(x, y);
    equal(pass, false);
    ok(message().endsWith(text), message());
  }
  const complex = (im: number) => Tensor.from([{ re: 1, im }]);
  ok(toEqualTensor(complex(2), complex(3)).message().includes('{"re":1,"im":2} at [0] instead of {"re":1,"im":3}'));
  ok(toEqualTensor(Tensor.from(1n), Tensor.from(2n)).message().endsWith('with 1 at [] instead of 2 at []'));
});

test('toBeCloseToTensor takes a tolerance', () => {
  const near = x.copy();
  near.set(0, 1, 2.1);
  equal(toBeCloseToTensor(x, near).pass, false);
  equal(toBeCloseToTensor(x, near, { atol: 0.2 }).pass, true);
  equal(toBeCloseToTensor(x, x.astype('float64')).pass, true);
  throws('TypeError', "did you mean 'atol'", () => toBeCloseToTensor(x, x, { atoll: 1 } as never));
});

test('other values are errors, not differences', () => {
  throws('TypeError', 'Expected a tensor for expect() but received', () => toEqualTensor([1], x));
  throws('TypeError', 'Expected a tensor for toEqualTensor() but received', () => toEqualTensor(x, null));
  throws('TypeError', 'Expected a tensor for toBeCloseToTensor()', () => toBeCloseToTensor(x, 1));
});

test('the tester compares two tensors and leaves other values to the runner', () => {
  const [areTensorsEqual] = equalityTesters as [(a: unknown, b: unknown) => boolean | undefined];
  equal([areTensorsEqual(x, x.copy()), areTensorsEqual(x, x.flip())], [true, false]);
  equal([areTensorsEqual(x, [1]), areTensorsEqual(1, 1), areTensorsEqual(null, x)], [undefined, undefined, undefined]);
});
