/**
 * `dlpack/matchers`: tensors in the assertions of Jest, Vitest, Bun and others with `expect.extend`.
 *
 * ```ts fragment: needs a test runner
 * expect.extend(matchers); // toEqualTensor, toBeCloseToTensor
 * expect.addEqualityTesters(equalityTesters); // toEqual and toStrictEqual compare tensors, too (not in Bun)
 * ```
 *
 * @module
 */

import { ArgumentTypeError, adviceFor, isA } from '../errors.js';
import { type Difference, differenceOf, distanceOf, type Tolerance } from '../values/compare.js';
import { descriptorOf, TensorView } from '../view.js';

export type { Tolerance } from '../values/compare.js';

/** What a matcher returns to its test runner. */
export interface MatcherResult {
  /** True if the expectation holds. */
  pass: boolean;
  /** Returns the text for the report of the test runner. */
  message: () => string;
}

/** The matchers as methods of `expect(x)`, to be merged into the types of a test runner. */
export interface TensorMatchers<R = unknown> {
  /**
   * Passes for a tensor with the same dtype, shape and values, as by `x.equals(y)`.
   *
   * @param expected - The tensor to compare with.
   * @returns What the test runner's matchers return.
   * @throws ArgumentTypeError if one of the two is no tensor.
   */
  toEqualTensor(expected: TensorView): R;
  /**
   * Passes for a tensor with the same shape and values within a tolerance, as by `x.allClose(y)`.
   *
   * @param expected - The tensor to compare with.
   * @param tolerance - How far apart values may be, as for `x.allClose(y)`.
   * @returns What the test runner's matchers return.
   * @throws ArgumentTypeError if one of the two is no tensor.
   */
  toBeCloseToTensor(expected: TensorView, tolerance?: Tolerance): R;
}

/** For `expect.extend`. */
export const matchers = {
  /** Passes if both tensors have the same dtype, shape and values, as by `x.equals(y)`. */
  toEqualTensor(received: unknown, expected: unknown): MatcherResult {
    const [x, y] = [tensorOf(received, 'expect()'), tensorOf(expected, 'toEqualTensor()')];
    return resultOf('equal to', x, y, differenceOf(descriptorOf(x), descriptorOf(y)));
  },
  /** Passes if both tensors have the same shape, and values within a tolerance, as by `x.allClose(y)`. */
  toBeCloseToTensor(received: unknown, expected: unknown, tolerance: Tolerance = {}): MatcherResult {
    const [x, y] = [tensorOf(received, 'expect()'), tensorOf(expected, 'toBeCloseToTensor()')];
    return resultOf('close to', x, y, distanceOf(descriptorOf(x), descriptorOf(y), tolerance));
  },
};

/** For `expect.addEqualityTesters`: compares two tensors as `x.equals(y)` does, wherever they are in other objects. */
export const equalityTesters: ((a: unknown, b: unknown) => boolean | undefined)[] = [
  function areTensorsEqual(a, b) {
    return isA(a, TensorView) && isA(b, TensorView) ? a.equals(b) : undefined;
  },
];

function tensorOf(value: unknown, argument: string): TensorView {
  if (isA(value, TensorView)) return value;
  throw new ArgumentTypeError(argument, 'a tensor', value, adviceFor(value));
}

function resultOf(relation: string, x: TensorView, y: TensorView, difference: Difference | null): MatcherResult {
  return {
    pass: difference === null,
    message: () =>
      difference === null
        ? `Expected a tensor that is not ${relation}\n${y}`
        : `Expected a tensor ${relation}\n${y}\nbut received\n${x}\nwith ${partOf(x, difference)} instead of ${partOf(y, difference)}`,
  };
}

/** The part of a tensor in which it differs from another: `dtype int8`, `5 at [1, 2]`. */
function partOf(tensor: TensorView, difference: Difference): string {
  if (difference === 'dtype') return `dtype ${tensor.dtype}`;
  if (difference === 'shape') return `shape [${tensor.shape.join(', ')}]`;
  const index: number[] = [];
  let rest = difference;
  for (const length of [...tensor.shape].reverse()) {
    index.unshift(rest % length);
    rest = Math.floor(rest / length);
  }
  return `${textOf(tensor.get(...index))} at [${index.join(', ')}]`;
}

function textOf(value: unknown): string {
  return typeof value === 'object' && !Array.isArray(value) ? JSON.stringify(value) : String(value);
}
