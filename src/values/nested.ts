/**
 * Nested arrays to a flat list of values, with shape and dtype worked out.
 *
 * @module
 */

import { type Complex, type DType, dtypeOfArray, parseDType, type TypedArray } from '../dtype.js';
import { ArgumentTypeError, LayoutError } from '../errors.js';
import { MAX_NDIM } from '../layout.js';

/** A value or arrays of values, all of the same depth and lengths. */
export type NestedSource = number | bigint | boolean | Complex | TypedArray | readonly NestedSource[];

/** The values in nested arrays, up to twelve levels deep: types such as that of `toArray()` have no end. */
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

/** The dtype that nested arrays of values get: `NestedDType<number[][]>` is `'float64'`. */
export type NestedDType<S> = DTypeOfValues<LeafOf<S>>;

/** Flattens row by row; lanes of a vector dtype are the innermost arrays and stay whole. */
export function flattenNested(
  source: NestedSource,
  dtype: DType | undefined,
): { shape: number[]; values: unknown[]; dtype: DType } {
  if (typeof source === 'object' && source !== null && !Array.isArray(source) && Symbol.iterator in source) {
    throw new ArgumentTypeError('source', 'nested arrays; spread other iterables: Tensor.from([...values])', source);
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
  const values: unknown[] = [];
  collect(source, 0, shape, values);
  return { shape, values, dtype: dtype ?? inferDType(values) };
}

/** An array, or a typed array as the innermost row. */
function isRow(value: unknown): value is ArrayLike<unknown> {
  return Array.isArray(value) || dtypeOfArray(value) !== undefined;
}

function collect(level: unknown, axis: number, shape: readonly number[], values: unknown[]): void {
  if (axis === shape.length) {
    values.push(level);
    return;
  }
  if (!isRow(level) || level.length !== shape[axis]) {
    const found = isRow(level) ? `${level.length}` : 'a value';
    throw new LayoutError(`Expected rows of equal length ${shape[axis]} on axis ${axis} but received ${found}`, shape);
  }
  for (let i = 0; i < level.length; i++) collect(level[i], axis + 1, shape, values);
}

const isComplex = (value: unknown): boolean => typeof value === 'object' && value !== null && 're' in value;
const isScalar = (value: unknown): boolean =>
  ['number', 'bigint', 'boolean'].includes(typeof value) || isComplex(value);

function inferDType(values: readonly unknown[]): DType {
  const other = values.findIndex((value) => !isScalar(value));
  if (other >= 0) {
    const expected = 'numbers, bigints, booleans or { re, im }, in nested arrays, a typed array or a tensor';
    throw new ArgumentTypeError('source', expected, values[other]);
  }
  const kinds = new Set(values.map((value) => typeof value));
  // A number is a complex one too.
  if (kinds.has('object')) kinds.delete('number');
  if (kinds.size > 1)
    throw new ArgumentTypeError('source', 'values of one type, or a dtype for all of them,', [...kinds]);
  const [kind] = kinds;
  switch (kind) {
    case 'bigint':
      return values.some((value) => (value as bigint) >= 2n ** 63n) ? 'uint64' : 'int64';
    case 'boolean':
      return 'bool';
    case 'object':
      return 'complex128';
    default:
      return 'float64';
  }
}
