/**
 * Reads nested arrays as a flat sequence of values and infers their shape and dtype.
 *
 * @module
 */

import { type Complex, type DType, dtypeOfArray, parseDType, type TypedArray } from '../dtype.js';
import { ArgumentTypeError, adviceFor, LayoutError } from '../errors.js';
import { MAX_NDIM } from '../layout.js';

/** A value, or nested arrays of values with the same depth and lengths. */
export type NestedSource = number | bigint | boolean | Complex | TypedArray | readonly NestedSource[];

/**
 * The type of the values in nested arrays, up to twelve levels deep, because recursive types such as that of
 * `toArray()` have no end.
 */
type LeafOf<S, Levels extends unknown[] = []> = Levels['length'] extends 12
  ? never
  : S extends readonly (infer Row)[]
    ? LeafOf<Row, [...Levels, unknown]>
    : S extends BigInt64Array | BigUint64Array
      ? bigint
      : S extends TypedArray
        ? number
        : S;

type DTypeOfValues<V> = 0 extends 1 & V // any
  ? DType
  : [V] extends [number]
    ? 'float64'
    : [V] extends [bigint]
      ? 'int64' | 'uint64'
      : [V] extends [boolean]
        ? 'bool'
        : [V] extends [number | Complex]
          ? 'complex128'
          : DType;

/** The dtype that `Tensor.from` infers for nested arrays: `NestedDType<number[][]>` is `'float64'`. */
export type NestedDType<S> = DTypeOfValues<LeafOf<S>>;

/** The shape and dtype of nested arrays. The innermost arrays are the lanes of a vector dtype, not an axis. */
export function measureNested(source: NestedSource, dtype: DType | undefined): { shape: number[]; dtype: DType } {
  if (typeof source === 'object' && source !== null && !Array.isArray(source) && Symbol.iterator in source) {
    throw new ArgumentTypeError('source', 'nested arrays', source, 'spread other iterables: Tensor.from([...values])');
  }
  const { name, lanes } = dtype === undefined ? { name: '', lanes: 1 } : parseDType(dtype);
  const shape: number[] = [];
  for (let level: unknown = source; isRow(level); level = level[0]) {
    if (shape.length === MAX_NDIM + 1) throw new LayoutError(`Expected at most ${MAX_NDIM} nested levels`);
    shape.push(level.length);
  }
  if (lanes > 1) {
    const last = shape.pop();
    if (last !== lanes)
      throw new ArgumentTypeError('source', `innermost arrays of ${lanes} values for ${name}`, source);
  }
  if (dtype === undefined) return { shape, dtype: inferDType(source, shape) };
  if (shape.includes(0)) visitNested(source, shape, () => {}); // checks the rows, because no values will be written
  return { shape, dtype };
}

/**
 * Calls `visit` with each value, row by row. Does not collect the values in an array first, because arrays have a size
 * limit, and engines abort beyond it.
 */
export function visitNested(source: NestedSource, shape: readonly number[], visit: (value: unknown) => void): void {
  const walk = (level: unknown, axis: number): void => {
    if (axis === shape.length) {
      visit(level);
      return;
    }
    const length = isRow(level) ? level.length : -1;
    if (length !== shape[axis]) {
      const found = length < 0 ? 'a value' : `${length}`;
      throw new LayoutError(
        `Expected rows of equal length ${shape[axis]} on axis ${axis} but received ${found}`,
        shape,
      );
    }
    const row = level as ArrayLike<unknown>;
    for (let i = 0; i < length; i++) walk(row[i], axis + 1);
  };
  walk(source, 0);
}

/** An array, or a typed array as the innermost row. */
function isRow(value: unknown): value is ArrayLike<unknown> {
  return Array.isArray(value) || dtypeOfArray(value) !== undefined;
}

const isComplex = (value: unknown): boolean => typeof value === 'object' && value !== null && 're' in value;

/** Infers the dtype from the values of nested arrays. */
function inferDType(source: NestedSource, shape: readonly number[]): DType {
  const kinds = new Set<string>();
  let isLarge = false;
  visitNested(source, shape, (value) => {
    const kind = typeof value;
    if (kind !== 'number' && kind !== 'bigint' && kind !== 'boolean' && !isComplex(value)) throw notValues(value);
    kinds.add(kind);
    if (kind === 'bigint' && (value as bigint) >= 2n ** 63n) isLarge = true;
  });
  // A number is also a complex number.
  if (kinds.has('object')) kinds.delete('number');
  if (kinds.size > 1)
    throw new ArgumentTypeError('source', 'values of one type, or a dtype for all of them,', [...kinds]);
  const [kind = 'number'] = kinds;
  switch (kind) {
    case 'bigint':
      return isLarge ? 'uint64' : 'int64';
    case 'boolean':
      return 'bool';
    case 'object':
      return 'complex128';
    default:
      return 'float64';
  }
}

function notValues(value: unknown): ArgumentTypeError {
  const expected = 'numbers, bigints, booleans or { re, im }, in nested arrays, a typed array or a tensor';
  return new ArgumentTypeError('source', expected, value, adviceFor(value));
}
