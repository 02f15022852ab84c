/**
 * Nested arrays of values: finds their shape and dtype, makes them of a tensor's elements, and writes their values into new
 * memory, which native code fills where there is a backend.
 */

import { cpu } from '../device.js';
import { type Complex, type DType, type DTypeInfo, dtypeOfArray, parseDType, type TypedArray } from '../dtype.js';
import { ArgumentTypeError, adviceFor, LayoutError } from '../errors.js';
import { checkShape, MAX_NDIM } from '../layout.js';
import { allocateLike, filled, rowMajor } from '../storage/allocate.js';
import { getBackend } from '../storage/backend.js';
import type { Descriptor } from '../storage/descriptor.js';
import { type ElementCodec, elementCodec } from './element.js';

/** A value, or nested arrays of values with the same depth and lengths. */
export type NestedSource = number | bigint | boolean | Complex | TypedArray | readonly NestedSource[];

/**
 * The type of the values in nested arrays, up to twelve levels deep, because recursive types such as that of
 * `toArray()` have no end.
 */
export type LeafOf<S, Levels extends unknown[] = []> = Levels['length'] extends 12
  ? never
  : S extends readonly (infer Row)[]
    ? LeafOf<Row, [...Levels, unknown]>
    : S extends BigInt64Array | BigUint64Array
      ? bigint
      : S extends TypedArray
        ? number
        : S;

/** The dtype that `Tensor.from` infers for values. */
export type DTypeOfValues<V> = 0 extends 1 & V // any
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
export function measureNested(
  source: NestedSource,
  dtype: DType | undefined,
): { shape: readonly number[]; dtype: DTypeInfo } {
  if (typeof source === 'object' && source !== null && !Array.isArray(source) && Symbol.iterator in source) {
    throw new ArgumentTypeError('source', 'nested arrays', source, 'spread other iterables: Tensor.from([...values])');
  }
  const info = dtype === undefined ? null : parseDType(dtype);
  const shape: number[] = [];
  for (let level: unknown = source; isRow(level); level = level[0]) {
    if (shape.length === MAX_NDIM + 1) throw new LayoutError(`Expected at most ${MAX_NDIM} nested levels`);
    shape.push(level.length);
  }
  if (info !== null && info.lanes > 1) {
    const last = shape.pop();
    if (last !== info.lanes)
      throw new ArgumentTypeError('source', `innermost arrays of ${info.lanes} values for ${info.name}`, source);
  }
  if (info === null) return { shape: checkShape(shape), dtype: parseDType(inferDType(source, shape)) };
  // Checks the rows, because no values will be written.
  if (shape.includes(0)) visitNested(source, shape, 0, () => {});
  return { shape: checkShape(shape), dtype: info };
}

/** Calls `visit` with each value, row by row. */
function visitNested(level: unknown, shape: readonly number[], axis: number, visit: (value: unknown) => void): void {
  if (axis === shape.length) {
    visit(level);
    return;
  }
  const row = checkRow(level, shape, axis);
  const length = shape[axis] as number;
  if (axis === shape.length - 1) for (let i = 0; i < length; i++) visit(row[i]);
  else for (let i = 0; i < length; i++) visitNested(row[i], shape, axis + 1, visit);
}

/** The values or rows of one level. Throws unless there are as many as in the first row. */
export function checkRow(level: unknown, shape: readonly number[], axis: number): ArrayLike<unknown> {
  const length = isRow(level) ? level.length : -1;
  if (length === shape[axis]) return level as ArrayLike<unknown>;
  const found = length < 0 ? 'a value' : length;
  throw new LayoutError(`Expected rows of equal length ${shape[axis]} on axis ${axis} but received ${found}`, shape);
}

/** An array, or a typed array as the innermost row. */
function isRow(value: unknown): value is ArrayLike<unknown> {
  return Array.isArray(value) || (typeof value === 'object' && dtypeOfArray(value) !== undefined);
}

const isComplex = (value: unknown): boolean => typeof value === 'object' && value !== null && 're' in value;

/** Infers the dtype from the values of nested arrays. */
function inferDType(source: NestedSource, shape: readonly number[]): DType {
  const kinds = new Set<string>();
  let isLarge = false;
  let last = '';
  visitNested(source, shape, 0, (value) => {
    const kind = typeof value;
    if (kind === 'bigint' && (value as bigint) >= 2n ** 63n) isLarge = true;
    if (kind === last && kind !== 'object') return;
    if (kind !== 'number' && kind !== 'bigint' && kind !== 'boolean' && !isComplex(value))
      throw notValues(value, shape);
    kinds.add(kind);
    last = kind;
  });
  // A number is also a complex number.
  if (kinds.has('object')) kinds.delete('number');
  if (kinds.size > 1)
    throw new ArgumentTypeError('source', 'values of one type, or a dtype for all of them,', [...kinds]);
  const dtypes = { number: 'float64', bigint: isLarge ? 'uint64' : 'int64', boolean: 'bool', object: 'complex128' };
  const [kind = 'number'] = kinds;
  return dtypes[kind as keyof typeof dtypes] as DType;
}

function notValues(value: unknown, { length }: readonly number[]): ArgumentTypeError {
  const expected = 'numbers, bigints, booleans or { re, im }, in nested arrays, a typed array or a tensor';
  const isTensor = adviceFor(value) !== '';
  const join = 'join tensors with Tensor.stack([x, y])';
  return new ArgumentTypeError('source', expected, value, length === 0 ? adviceFor(value) : isTensor ? join : '');
}

/**
 * The most values and arrays of nested arrays. Engines keep longer arrays in a slow form, and end the process when there is
 * no memory for one.
 */
const MAX_NESTED = 2 ** 25;

/** Throws for a shape of too many values and arrays. A shape such as [1e9, 0] has no elements, but a billion arrays. */
function checkNested(shape: readonly number[], { lanes }: DTypeInfo): void {
  let count = 1;
  let total = 1;
  for (let axis = 0; axis < shape.length; axis++) {
    count *= shape[axis] as number;
    total += count;
  }
  if (lanes > 1) total += count * lanes;
  if (total <= MAX_NESTED) return;
  throw new LayoutError(
    `Expected at most ${MAX_NESTED} values and arrays but the shape [${shape.join(', ')}] needs ${total}; ` +
      'use data, get() or a slice()',
    shape,
  );
}

/** The elements of a tensor in nested arrays, one level for each axis. */
export function nestElements(descriptor: Descriptor): unknown {
  const { dtype, size, bitOffset, shape } = descriptor;
  checkNested(shape, dtype);
  return nestFrom(descriptor, elementCodec(dtype), size > 0 ? descriptor.view() : null, 0, bitOffset);
}

/** The elements of the axes from `axis` on. Not a closure, because engines compile it for each tensor again. */
function nestFrom(
  descriptor: Descriptor,
  codec: ElementCodec,
  view: DataView | null,
  axis: number,
  start: number,
): unknown {
  const { shape, strides } = descriptor;
  if (axis === shape.length) return codec.read(view as DataView, start);
  const length = shape[axis] as number;
  const step = (strides[axis] as number) * descriptor.strideBits;
  const row = new Array<unknown>(length);
  if (axis === shape.length - 1)
    for (let i = 0; i < length; i++) row[i] = codec.read(view as DataView, start + i * step);
  else for (let i = 0; i < length; i++) row[i] = nestFrom(descriptor, codec, view, axis + 1, start + i * step);
  return row;
}

/** The values of nested arrays of this shape, in new row-major memory. */
export function writeNested(source: NestedSource, shape: readonly number[], dtype: DTypeInfo): Descriptor {
  const storage = getBackend()?.writeNested(source, shape, dtype);
  if (storage != null) return rowMajor(storage, dtype, cpu, shape, 0);
  return filled(allocateLike(shape, dtype, 0), (target) => {
    const codec = elementCodec(dtype);
    const view = target.view();
    let bit = 0;
    visitNested(source, shape, 0, (value) => {
      codec.write(view, bit, value);
      bit += dtype.itemBits;
    });
    target.storage.commit();
  });
}

/** The elements of a short typed array in new memory; null for other arrays, and without a backend. */
export function writeFew(array: TypedArray, dtype: DTypeInfo): Descriptor | null {
  const { length } = array;
  const storage = getBackend()?.writeFew(array, length, dtype);
  return storage == null ? null : rowMajor(storage, dtype, cpu, [length], 0);
}

/** Nested arrays of values as JSON can hold them: without bigints, of which large ones become text. */
export function jsonOf(value: unknown): unknown {
  if (typeof value === 'bigint') return Number.isSafeInteger(Number(value)) ? Number(value) : String(value);
  if (value instanceof Uint8Array) return [...value];
  return Array.isArray(value) ? value.map(jsonOf) : value;
}
