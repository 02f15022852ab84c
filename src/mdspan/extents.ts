/**
 * Extents: the lengths of the axes, each known to the compiler (static) or only at run time (dynamic).
 *
 * In types, a static length is a literal and a dynamic length is `number`: `Extents<readonly [number, 3]>`. So extents
 * with more static lengths are assignable to extents with fewer, like the conversions in C++.
 *
 * A length that was given as a bigint is `number | bigint` in the type. Extents with such a length, and layouts of them,
 * compute exactly beyond 2^53 - 1 and return bigints there. All other extents compute with numbers.
 */

import { ArgumentTypeError, ArgumentValueError, describe, IndexError, isA, isUsable, LayoutError } from '../errors.js';
import { checkLengths, checkShape, MAX_NDIM } from '../layout.js';
import { checkIntegers, exact, type Integer, isInt64, numbersOf, productOf } from './integers.js';

/** The lengths of axes in a type: literals for static lengths, `number` for dynamic lengths. */
export type NumberShape = readonly number[];

/** A {@link NumberShape} in which lengths can be bigints. */
export type BigShape = readonly Integer[];

/**
 * The integers of extents and layouts: `number`, or `number | bigint` when a length was given as a bigint. Not a
 * conditional type, so that generic code over numbers can compute with it.
 */
export type IntegerOf<S extends BigShape> = number | (S[number] & bigint);

/** One integer for each axis. */
export type PerAxis<S extends BigShape> = { readonly [Axis in keyof S]: IntegerOf<S> };

/** The integer types of an index, and the largest number that each can hold here. */
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

/** The integer type that a span computes its indices with. */
export type IndexType = keyof typeof indexLimits;

/** A length known only at run time, as {@link dynamic} makes it. */
export class DynamicLength<I extends Integer = Integer> {
  constructor(
    /** The length, known only at run time. */
    readonly length: I,
    /** True when the length was given as a bigint, of any size. */
    readonly isBigInt: boolean,
  ) {}
}

/**
 * Marks a length as known only at run time. With a bigint the extents are exact beyond 2^53 - 1.
 *
 * @param length - The length, an integer of zero or more.
 * @returns A length for {@link extents}.
 * @throws ArgumentTypeError for anything but an integer, and ArgumentValueError for a negative or too large one.
 * @example
 * ```ts
 * import { dynamic, extents } from 'dlpack/mdspan';
 * const rows = Number('2');
 * console.log(String(extents(dynamic(rows), 3))); // extents(dynamic(2), 3)
 * ```
 */
export function dynamic(length: number): DynamicLength<number>;
export function dynamic(length: Integer): DynamicLength<Integer>;
export function dynamic(length: Integer): DynamicLength {
  return new DynamicLength(checkLength(length, 'dynamic extent'), typeof length === 'bigint');
}

function checkLength(length: Integer, argument: string): Integer {
  if (typeof length !== 'number' && typeof length !== 'bigint') {
    throw new ArgumentTypeError(argument, 'an integer', length);
  }
  const isBigInt = typeof length === 'bigint';
  if (length > (isBigInt ? 2n ** 63n - 1n : Number.MAX_SAFE_INTEGER)) {
    const expected = `a length of at most 2^${isBigInt ? 63 : 53} - 1 (extent is too large)`;
    throw new ArgumentValueError(argument, expected, length, isBigInt ? '' : 'a bigint can be larger');
  }
  if (!(isBigInt || Number.isInteger(length)) || length < 0) {
    throw new ArgumentValueError(argument, 'an integer of zero or more', length);
  }
  return isBigInt ? exact(length) : length;
}

/** What the compiler says about a length that it cannot know. */
export type LiteralExpected = 'Expected a literal length; mark one that is known only at run time: dynamic(length)';
/** A static length of an axis, or the reason why it is none. */
export type CheckedLength<L> = L extends Integer
  ? number extends L
    ? LiteralExpected
    : bigint extends L
      ? LiteralExpected
      : `${L}` extends `-${string}` | `${string}.${string}`
        ? 'Expected an integer of zero or more'
        : L
  : L;
/** The lengths that the arguments of {@link extents} stand for. */
export type LengthsOf<L extends readonly (Integer | DynamicLength)[]> = {
  readonly [Axis in keyof L]: L[Axis] extends number ? L[Axis] : L[Axis] extends DynamicLength<infer I> ? I : Integer;
};

/**
 * Holds the lengths of the axes, as `std::extents` does.
 *
 * @example
 * ```ts
 * import { extents } from 'dlpack/mdspan';
 * const e = extents(2, 3);
 * console.log(e.rank, e.size, e.staticExtent(1)); // 2 6 3
 * ```
 */
export class Extents<S extends BigShape = NumberShape> {
  /** The length of each axis, in a frozen array. */
  readonly lengths: S;
  /** The integer type of the indices. */
  readonly indexType: IndexType;
  /** True when a length was given as a bigint: integers beyond 2^53 - 1 are then bigints instead of errors. */
  readonly usesBigInt: boolean;
  readonly #isStatic: readonly boolean[];

  /** For this package only; programs call {@link extents} and {@link dims}. */
  constructor(lengths: S, isStatic: readonly boolean[], indexType: IndexType = 'uint64', usesBigInt = false) {
    const checked = usesBigInt ? checkBigLengths(lengths) : checkLengths(lengths as NumberShape, 'extents');
    // Empty extents cannot have too many elements.
    if (!usesBigInt && !checked.includes(0)) checkShape(checked as NumberShape, 'extents');
    this.lengths = Object.freeze(checked) as S;
    this.usesBigInt = usesBigInt;
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
  get size(): IntegerOf<S> {
    return productOf(this.lengths) as IntegerOf<S>;
  }

  /**
   * Returns the length of one axis.
   *
   * @param axis - The number of the axis, from 0.
   * @throws IndexError for an axis that does not exist.
   */
  extent(axis: number): IntegerOf<S> {
    return this.lengths[this.checkAxis(axis)] as IntegerOf<S>;
  }

  /**
   * Returns the length of one axis when it is static, null when it is dynamic.
   *
   * @param axis - The number of the axis, from 0.
   * @throws IndexError for an axis that does not exist.
   */
  staticExtent(axis: number): IntegerOf<S> | null {
    const at = this.checkAxis(axis);
    return this.#isStatic[at] === true ? (this.lengths[at] as IntegerOf<S>) : null;
  }

  /**
   * Tells whether the lengths are equal. Static lengths and the index type do not matter.
   *
   * @param other - Other extents.
   */
  equals(other: Extents<BigShape>): boolean {
    return (
      other instanceof Extents &&
      this.lengths.length === other.lengths.length &&
      this.lengths.every((length, axis) => length === other.lengths[axis])
    );
  }

  /**
   * Makes extents of the same lengths with another index type, which must be able to hold them.
   *
   * @param indexType - Such as `'int32'`; `'uint64'` for extents that were not made here.
   * @throws ArgumentValueError for an unknown type, and for a length or a number of elements that it cannot hold.
   */
  withIndexType(indexType: IndexType): Extents<S> {
    return new Extents(this.lengths, this.#isStatic, indexType, this.usesBigInt);
  }

  /**
   * Returns `axis` if it is a valid axis.
   *
   * @param axis - The number of an axis, from 0.
   * @throws IndexError for an axis that does not exist.
   */
  checkAxis(axis: number): number {
    if (!Number.isInteger(axis) || axis < 0 || axis >= this.lengths.length) {
      throw new IndexError(
        `Expected an axis from 0 to ${this.lengths.length - 1} but received ${describe(axis)}`,
        axis,
      );
    }
    return axis;
  }

  /**
   * Returns `value` if the index type can hold it.
   *
   * @param value - An integer.
   * @param argument - What it is called in the error.
   * @throws ArgumentValueError if the index type cannot hold it.
   */
  checkIndex<I extends Integer>(value: I, argument: string): I {
    const limit = indexLimits[this.indexType];
    const isExact = this.usesBigInt && limit === Number.MAX_SAFE_INTEGER ? isInt64(value) : Number.isSafeInteger(value);
    if (!isExact || (typeof value === 'number' && value > limit)) {
      throw new ArgumentValueError(argument, `a value that is representable as index type ${this.indexType}`, value);
    }
    return value;
  }

  /** Returns the lengths as text. `dynamic` marks those that are known only at run time. */
  toString(): string {
    return `extents(${this.lengths.map((n, axis) => (this.#isStatic[axis] ? n : `dynamic(${n})`)).join(', ')})`;
  }
}

const isDynamic = (length: unknown): length is DynamicLength => isA(length, DynamicLength);

/**
 * Makes extents of literal and {@link dynamic} lengths: `extents(2, 3)`, `extents(dynamic(n), 3)`, `extents()` for rank
 * 0.
 *
 * @param lengths - One length for each axis. With a bigint among them, integers are exact up to 2^63 - 1.
 * @returns Extents whose type has the literal lengths.
 * @throws ArgumentTypeError for anything but integers, ArgumentValueError for a negative or too large one, and
 *   LayoutError for too many axes or elements.
 * @example
 * ```ts
 * import { extents } from 'dlpack/mdspan';
 * console.log(extents(2, 3).lengths); // [2, 3]
 * ```
 */
export function extents<const L extends readonly (Integer | DynamicLength)[]>(
  ...lengths: L & { readonly [Axis in keyof L]: CheckedLength<L[Axis]> }
): Extents<LengthsOf<L>> {
  const given: readonly (Integer | DynamicLength)[] = lengths;
  return new Extents(
    given.map((length, axis) =>
      isDynamic(length) ? length.length : checkLength(length, `extent ${axis}`),
    ) as unknown as LengthsOf<L>,
    given.map((length) => !isDynamic(length)),
    'uint64',
    given.some((length) => (isDynamic(length) ? length.isBigInt : typeof length === 'bigint')),
  );
}

/** Dynamic lengths of the same rank. */
export type DimsOf<L extends BigShape> = { readonly [Axis in keyof L]: L[Axis] extends number ? number : Integer };

/**
 * Makes extents that are all dynamic. A tuple keeps its rank in the type.
 *
 * @param lengths - One length for each axis. With a bigint among them, integers are exact up to 2^63 - 1.
 * @returns Extents of these lengths.
 * @throws ArgumentTypeError for anything but integers, ArgumentValueError for a negative or too large one, and
 *   LayoutError for too many axes or elements.
 * @example
 * ```ts
 * import { dims } from 'dlpack/mdspan';
 * console.log(String(dims([2, 3]))); // extents(dynamic(2), dynamic(3))
 * ```
 */
export function dims<const L extends BigShape>(lengths: L): Extents<DimsOf<L>> {
  const usesBigInt =
    isUsable(lengths) && Array.isArray(lengths) && lengths.some((length) => typeof length === 'bigint');
  const checked = usesBigInt ? lengths : checkShape(lengths as unknown as NumberShape, 'dims');
  return new Extents(
    checked as unknown as DimsOf<L>,
    checked.map(() => false),
    'uint64',
    usesBigInt,
  );
}

/** A checked copy of lengths, as numbers where these are exact. There may be 2^63 - 1 elements. */
function checkBigLengths(lengths: BigShape): BigShape {
  const checked = checkIntegers(lengths, 'extents', lengths.length, true);
  if (checked.length > MAX_NDIM) {
    throw new LayoutError(`Expected at most ${MAX_NDIM} axes for extents but received ${checked.length}`);
  }
  if (checked.some((length) => length < 0)) {
    throw new ArgumentValueError('extents', 'lengths of zero or more', checked);
  }
  if (!isInt64(productOf(checked))) {
    throw new LayoutError(
      `Expected a number of elements of at most 2^63 - 1 but extents [${checked.join(', ')}] exceed it`,
      numbersOf(checked),
    );
  }
  return checked;
}
