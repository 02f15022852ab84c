/**
 * Extents: the lengths of the axes, each known to the compiler (static) or only at run time (dynamic).
 *
 * In types, a static length is a literal and a dynamic length is `number`: `Extents<readonly [number, 3]>`. So extents
 * with more static lengths are assignable to extents with fewer, like the conversions in C++.
 *
 * @module
 */

import { ArgumentTypeError, ArgumentValueError, describe, IndexError } from '../errors.js';
import { checkLengths, checkShape } from '../layout.js';

/** The lengths of axes in a type: literals for static lengths, `number` for dynamic lengths. */
export type Shape = readonly number[];

/** One number for each axis. */
export type PerAxis<S extends Shape> = { readonly [Axis in keyof S]: number };

/** The integer types of an index, and the largest length that each can hold here. */
const indexLimits = {
  int8: 127,
  uint8: 255,
  int16: 32767,
  uint16: 65535,
  int32: 2147483647,
  uint32: 4294967295,
  int64: Number.MAX_SAFE_INTEGER,
  uint64: Number.MAX_SAFE_INTEGER,
} as const;

export type IndexType = keyof typeof indexLimits;

/** A length known only at run time; made by {@link dynamic}. */
export class DynamicLength {
  readonly length: number;

  constructor(length: number) {
    this.length = length;
  }
}

/** Marks a length as known only at run time. */
export function dynamic(length: number | bigint): DynamicLength {
  return new DynamicLength(checkLength(length, 'dynamic extent'));
}

function checkLength(length: number | bigint, argument: string): number {
  if (typeof length !== 'number' && typeof length !== 'bigint') {
    throw new ArgumentTypeError(argument, 'an integer', length);
  }
  if (length > Number.MAX_SAFE_INTEGER) {
    throw new ArgumentValueError(argument, 'a length of at most 2^53 - 1 (extent is too large)', length);
  }
  if (!Number.isInteger(Number(length)) || length < 0) {
    throw new ArgumentValueError(argument, 'an integer of zero or more', length);
  }
  return Number(length);
}

type CheckedLength<L> = L extends number
  ? number extends L
    ? 'Expected a literal length; mark one that is known only at run time: dynamic(length)'
    : `${L}` extends `-${string}` | `${string}.${string}`
      ? 'Expected an integer of zero or more'
      : L
  : L;
type LengthsOf<L extends readonly (number | DynamicLength)[]> = {
  readonly [Axis in keyof L]: L[Axis] extends number ? L[Axis] : number;
};

export class Extents<S extends Shape = Shape> {
  /** The length of each axis, in a frozen array. */
  readonly lengths: S;
  readonly indexType: IndexType;
  readonly #isStatic: readonly boolean[];

  /** For this package only; programs call {@link extents} and {@link dims}. */
  constructor(lengths: S, isStatic: readonly boolean[], indexType: IndexType = 'uint64') {
    const checked = checkLengths(lengths, 'extents');
    // Empty extents cannot have too many elements.
    if (!checked.includes(0)) checkShape(checked, 'extents');
    this.lengths = Object.freeze(checked) as S;
    if (!Array.isArray(isStatic) || isStatic.length !== this.lengths.length) {
      throw new ArgumentTypeError('isStatic', `${this.lengths.length} booleans`, isStatic);
    }
    this.#isStatic = [...isStatic];
    this.indexType = indexType;
    if (typeof indexType !== 'string' || !Object.hasOwn(indexLimits, indexType)) {
      throw new ArgumentValueError('indexType', `one of ${Object.keys(indexLimits).join(', ')}`, indexType);
    }
    for (const length of this.lengths) this.checkIndex(length, 'extent');
  }

  /** Number of axes. */
  get rank(): S['length'] {
    return this.lengths.length;
  }

  /** Number of axes whose length is dynamic. */
  get rankDynamic(): number {
    return this.#isStatic.filter((isStatic) => !isStatic).length;
  }

  /** Number of elements; 1 without axes. */
  get size(): number {
    return this.lengths.reduce((product, length) => product * length, 1);
  }

  /** The length of one axis. */
  extent(axis: number): number {
    return this.lengths[this.checkAxis(axis)] as number;
  }

  /** The length of one axis when it is static, null when it is dynamic. */
  staticExtent(axis: number): number | null {
    const at = this.checkAxis(axis);
    return this.#isStatic[at] === true ? (this.lengths[at] as number) : null;
  }

  /** True when the lengths are equal. Static lengths and the index type do not matter. */
  equals(other: Extents): boolean {
    return (
      other instanceof Extents &&
      this.lengths.length === other.lengths.length &&
      this.lengths.every((length, axis) => length === other.lengths[axis])
    );
  }

  /** The same lengths with another index type, which must be able to hold them. */
  withIndexType(indexType: IndexType): Extents<S> {
    return new Extents(this.lengths, this.#isStatic, indexType);
  }

  /** Throws unless `axis` is a valid axis. */
  checkAxis(axis: number): number {
    if (!Number.isInteger(axis) || axis < 0 || axis >= this.lengths.length) {
      throw new IndexError(
        `Expected an axis from 0 to ${this.lengths.length - 1} but received ${describe(axis)}`,
        axis,
      );
    }
    return axis;
  }

  /** Throws unless the index type can hold `value`. */
  checkIndex(value: number, argument: string): number {
    if (value > indexLimits[this.indexType] || !Number.isSafeInteger(value)) {
      throw new ArgumentValueError(argument, `a value that is representable as index type ${this.indexType}`, value);
    }
    return value;
  }

  toString(): string {
    return `extents(${this.lengths.map((n, axis) => (this.#isStatic[axis] ? n : `dynamic(${n})`)).join(', ')})`;
  }
}

/** Extents of literal and {@link dynamic} lengths: `extents(2, 3)`, `extents(dynamic(n), 3)`, `extents()` for rank 0. */
export function extents<const L extends readonly (number | DynamicLength)[]>(
  ...lengths: L & { readonly [Axis in keyof L]: CheckedLength<L[Axis]> }
): Extents<LengthsOf<L>> {
  const given: readonly (number | DynamicLength)[] = lengths;
  return new Extents(
    given.map((length, axis) =>
      length instanceof DynamicLength ? length.length : checkLength(length, `extent ${axis}`),
    ) as unknown as LengthsOf<L>,
    given.map((length) => !(length instanceof DynamicLength)),
  );
}

/** Extents that are all dynamic. A tuple keeps its rank in the type. */
export function dims<const L extends readonly number[]>(lengths: L): Extents<PerAxis<L>> {
  const checked = checkShape(lengths, 'dims');
  return new Extents(
    checked as unknown as PerAxis<L>,
    checked.map(() => false),
  );
}
