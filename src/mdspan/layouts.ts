/**
 * The layouts of C++: right (row-major), left (column-major), stride (positive strides), and CUDA's relaxed stride (zero
 * and negative strides, and an offset).
 */

import { ArgumentTypeError, ArgumentValueError, isA, LayoutError } from '../errors.js';
import { checkStrides, spanOf } from '../layout.js';
import { type BigShape, Extents, type IntegerOf, type NumberShape, type PerAxis } from './extents.js';
import {
  add,
  checkInteger,
  checkIntegers,
  exact,
  exactSpanOf,
  type Integer,
  isInt64,
  multiply,
  numbersOf,
} from './integers.js';
import { checkIsMapping, type LayoutMapping, type StridedMapping, stridesOf } from './mapping.js';

/** As `spanOf`, but without elements the strides do not matter, however large they are. */
export function reachOf(
  { lengths, usesBigInt }: Extents<BigShape>,
  strides: readonly Integer[],
): { low: Integer; high: Integer } | null {
  if (lengths.includes(0)) return null;
  return usesBigInt ? exactSpanOf(lengths, strides) : spanOf(lengths as NumberShape, strides as readonly number[]);
}

/** Names of the layouts of this package. */
export type LayoutName = 'layoutRight' | 'layoutLeft' | 'layoutStride' | 'layoutStrideRelaxed';

/**
 * What the layouts of this package have in common.
 *
 * @hideconstructor
 * @example
 * ```ts
 * import { extents, layoutLeft, layoutRight, type NumberShape, type StridesMapping } from 'dlpack/mdspan';
 * const text = ({ layout, strides }: StridesMapping<NumberShape>) => `${layout} ${strides}`;
 * console.log(text(layoutRight(extents(2, 3))), text(layoutLeft(extents(2, 3)))); // layoutRight 3,1 layoutLeft 1,2
 * ```
 */
export abstract class StridesMapping<S extends BigShape> implements StridedMapping<S> {
  /** The name of the layout. */
  abstract readonly layout: LayoutName;
  /** True when no two indices share an element. */
  readonly isUnique: boolean = true;
  /** True when every offset below `requiredSpanSize` belongs to an index. */
  readonly isExhaustive: boolean = true;
  /** True when each axis has a constant distance between neighbours. */
  readonly isStrided: boolean = true;
  /** In elements, in a frozen array. */
  readonly strides: PerAxis<S>;
  /** The offset of the index that is all zeros. */
  readonly offset: IntegerOf<S>;
  /** One more than the largest offset; 0 when there are no elements. */
  readonly requiredSpanSize: IntegerOf<S>;

  constructor(
    /** The lengths of the axes. */
    readonly extents: Extents<S>,
    strides: readonly Integer[],
    offset: Integer,
  ) {
    this.strides = Object.freeze(strides) as unknown as PerAxis<S>;
    this.offset = offset as IntegerOf<S>;
    const high = reachOf(extents, strides)?.high;
    const size = high === undefined ? 0 : extents.checkIndex(add(add(offset, high), 1), 'requiredSpanSize');
    this.requiredSpanSize = size as IntegerOf<S>;
  }

  /**
   * Returns the stride of one axis, in elements.
   *
   * @param axis - The number of the axis, from 0.
   * @throws IndexError for an axis that does not exist.
   */
  stride(axis: number): IntegerOf<S> {
    return this.strides[this.extents.checkAxis(axis)] as IntegerOf<S>;
  }

  /**
   * Returns the offset of an element, in elements. The indices are not compared with the lengths.
   *
   * @param index - One index for each axis.
   */
  offsetAt(...index: PerAxis<S>): IntegerOf<S> {
    if (this.extents.usesBigInt) return this.#exactOffsetAt(index) as IntegerOf<S>;
    let offset = this.offset as number;
    for (let axis = 0; axis < this.strides.length; axis++) {
      offset += (index[axis] as number) * (this.strides[axis] as number);
    }
    return offset as IntegerOf<S>;
  }

  #exactOffsetAt(index: readonly Integer[]): Integer {
    let offset: Integer = this.offset;
    for (const [axis, stride] of (this.strides as readonly Integer[]).entries()) {
      offset = add(offset, multiply(checkInteger(index[axis] as Integer, `index ${axis}`, true), stride));
    }
    return offset;
  }

  /**
   * Tells whether both mappings are equal: the same extents, strides and offset.
   *
   * @param other - Another mapping.
   * @throws ArgumentTypeError for anything but a mapping, and LayoutError for one without strides.
   */
  equals(other: LayoutMapping<BigShape>): boolean {
    checkIsMapping(other);
    if (!this.extents.equals(other.extents)) return false;
    const strides = stridesOf(other);
    const otherOffset = other instanceof StridesMapping ? other.offset : 0;
    return this.offset === otherOffset && strides.every((stride, axis) => stride === this.strides[axis]);
  }
}

/**
 * Maps indices row-major: the last axis has stride 1. Made by {@link layoutRight}.
 *
 * @example
 * ```ts
 * import { extents, layoutRight, type RightMapping } from 'dlpack/mdspan';
 * const rows: RightMapping<readonly [2, 3]> = layoutRight(extents(2, 3));
 * console.log(rows.strides, rows.requiredSpanSize); // [3, 1] 6
 * ```
 */
export class RightMapping<S extends BigShape = NumberShape> extends StridesMapping<S> {
  /** The name of the layout policy. */
  readonly layout = 'layoutRight';
  /** True when no two indices share an element. */
  declare readonly isUnique: true;
  /** True when the elements have no gaps. */
  declare readonly isExhaustive: true;
  /** True when each axis has a stride. */
  declare readonly isStrided: true;
}

/**
 * Maps indices column-major: the first axis has stride 1. Made by {@link layoutLeft}.
 *
 * @example
 * ```ts
 * import { extents, layoutLeft, type LeftMapping } from 'dlpack/mdspan';
 * const columns: LeftMapping<readonly [2, 3]> = layoutLeft(extents(2, 3));
 * console.log(columns.strides, columns.offsetAt(1, 2)); // [1, 2] 5
 * ```
 */
export class LeftMapping<S extends BigShape = NumberShape> extends StridesMapping<S> {
  /** The name of the layout policy. */
  readonly layout = 'layoutLeft';
  /** True when no two indices share an element. */
  declare readonly isUnique: true;
  /** True when the elements have no gaps. */
  declare readonly isExhaustive: true;
  /** True when each axis has a stride. */
  declare readonly isStrided: true;
}

/**
 * Maps indices with any positive strides without overlap, as `std::layout_stride` does. Made by {@link layoutStride}.
 * @example
 * ```ts
 * import { extents, layoutStride, type StrideMapping } from 'dlpack/mdspan';
 * const padded: StrideMapping<readonly [2, 3]> = layoutStride(extents(2, 3), [4, 1]);
 * console.log(padded.isExhaustive, padded.requiredSpanSize); // false 7
 * ```
 */
export class StrideMapping<S extends BigShape = NumberShape> extends StridesMapping<S> {
  /** The name of the layout policy. */
  readonly layout = 'layoutStride';
  /** True when no two indices share an element. */
  declare readonly isUnique: true;
  /** True when each axis has a stride. */
  declare readonly isStrided: true;
  /** True when the elements have no gaps. */
  override readonly isExhaustive = this.#hasNoGap();

  #hasNoGap(): boolean {
    const { lengths } = this.extents;
    if (this.requiredSpanSize > 0) return this.requiredSpanSize === this.extents.size;
    // Without elements the standard still requires an order in which the strides leave no gap. Such an order exists
    // unless an axis other than the outermost is empty.
    if (lengths.length === 1) return this.strides[0] === 1;
    const strides: readonly Integer[] = this.strides;
    const outermost = strides.findIndex((stride) => strides.every((other) => other <= stride));
    return lengths.every((length, axis) => axis === outermost || length !== 0);
  }
}

/**
 * Like CUDA's mapping, it guarantees neither uniqueness nor exhaustiveness, and reports that it is strided only without
 * an offset.
 *
 * @example
 * ```ts
 * import { extents, layoutStrideRelaxed, type RelaxedMapping } from 'dlpack/mdspan';
 * const backwards: RelaxedMapping<readonly [3]> = layoutStrideRelaxed(extents(3), [-1], 2);
 * console.log(backwards.offsetAt(0), backwards.offsetAt(2)); // 2 0
 * ```
 */
export class RelaxedMapping<S extends BigShape = NumberShape> extends StridesMapping<S> {
  /** The name of the layout policy. */
  readonly layout = 'layoutStrideRelaxed';
  /** True when no two indices share an element. */
  override readonly isUnique = false;
  /** True when the elements have no gaps. */
  override readonly isExhaustive = false;
  /** True when each axis has a stride. */
  override readonly isStrided = this.offset === 0;
}

/** Products of lengths as in C++: an empty axis makes the strides of the outer axes zero. */
function packedStrides({ lengths, usesBigInt }: Extents<BigShape>, order: readonly number[]): readonly Integer[] {
  const strides = new Array<Integer>(lengths.length);
  let step: Integer = 1;
  for (const axis of order) {
    strides[axis] = step;
    const length = lengths[axis] as Integer;
    step = usesBigInt ? multiply(step, length) : Number(step) * Number(length);
  }
  return strides;
}

/** A checked copy of strides, one for each axis. */
function checkedStrides(extents: Extents<BigShape>, strides: readonly Integer[]): readonly Integer[] {
  const { lengths, usesBigInt } = extents;
  if (!usesBigInt) return checkStrides(strides as readonly number[], lengths as NumberShape);
  return checkIntegers(strides, 'strides', lengths.length, true);
}

function checkExtents(extents: Extents<BigShape>): void {
  if (!isA(extents, Extents)) throw new ArgumentTypeError('extents', 'extents(...) or dims(...)', extents);
}

/**
 * Makes a row-major layout: the last axis is contiguous.
 *
 * @param extents - The lengths of the axes.
 * @returns The mapping from indices to offsets.
 * @throws ArgumentTypeError for anything but extents.
 * @example
 * ```ts
 * import { extents, layoutRight } from 'dlpack/mdspan';
 * const layout = layoutRight(extents(2, 3));
 * console.log(layout.strides, layout.offsetAt(1, 2)); // [3, 1] 5
 * ```
 */
export function layoutRight<S extends BigShape>(extents: Extents<S>): RightMapping<S> {
  checkExtents(extents);
  const axes = extents.lengths.map((_, axis) => axis).reverse();
  return new RightMapping(extents, packedStrides(extents, axes), 0);
}

/**
 * Makes a column-major layout: the first axis is contiguous.
 *
 * @param extents - The lengths of the axes.
 * @returns The mapping from indices to offsets.
 * @throws ArgumentTypeError for anything but extents.
 * @example
 * ```ts
 * import { extents, layoutLeft } from 'dlpack/mdspan';
 * const layout = layoutLeft(extents(2, 3));
 * console.log(layout.strides, layout.offsetAt(1, 2)); // [1, 2] 5
 * ```
 */
export function layoutLeft<S extends BigShape>(extents: Extents<S>): LeftMapping<S> {
  checkExtents(extents);
  const axes = extents.lengths.map((_, axis) => axis);
  return new LeftMapping(extents, packedStrides(extents, axes), 0);
}

/**
 * Makes a layout with positive strides, in which every index has its own element.
 *
 * @param extents - The lengths of the axes.
 * @param strides - One for each axis, in elements.
 * @returns The mapping from indices to offsets.
 * @throws ArgumentTypeError for anything but extents and integers, and ArgumentValueError for strides that are not
 *   positive.
 * @throws LayoutError for strides with which two indices share an element.
 * @example
 * ```ts
 * import { extents, layoutStride } from 'dlpack/mdspan';
 * const layout = layoutStride(extents(2, 3), [4, 1]); // rows with a gap
 * console.log(layout.requiredSpanSize, layout.isExhaustive); // 7 false
 * ```
 */
export function layoutStride<S extends BigShape>(extents: Extents<S>, strides: PerAxis<NoInfer<S>>): StrideMapping<S> {
  checkExtents(extents);
  const checked = checkedStrides(extents, strides);
  if (checked.some((stride) => stride <= 0)) {
    throw new ArgumentValueError(
      'strides',
      'strides of one or more (layoutStride requires strictly positive strides)',
      checked,
    );
  }
  checkUnique(extents, checked);
  return new StrideMapping(extents, checked, 0);
}

/** Throws if two indices share an element. An axis of length one cannot cause that, and neither can an empty layout. */
function checkUnique({ lengths }: Extents<BigShape>, strides: readonly Integer[]): void {
  if (lengths.includes(0)) return;
  const axes = lengths.map((length, axis) => ({ length, stride: strides[axis] as Integer }));
  const inward = axes.filter(({ length }) => length > 1).sort((a, b) => (a.stride < b.stride ? -1 : 1));
  let reach: Integer = 1;
  for (const { length, stride } of inward) {
    if (stride < reach) {
      throw new LayoutError(
        `Expected strides that lead to a unique mapping for layoutStride but extents [${lengths.join(', ')}] with strides ` +
          `[${strides.join(', ')}] share elements; layoutStrideRelaxed allows that`,
        numbersOf(lengths),
        numbersOf(strides),
      );
    }
    reach = multiply(stride, length);
  }
}

/**
 * Makes a layout with any strides, including zero and negative ones, and with an offset for the index that is all
 * zeros.
 *
 * @param extents - The lengths of the axes.
 * @param strides - One for each axis, in elements.
 * @param offset - The offset of the index that is all zeros; 0 when absent.
 * @returns The mapping from indices to offsets.
 * @throws ArgumentTypeError for anything but extents and integers, and ArgumentValueError for a negative offset.
 * @throws LayoutError for an offset that is too small for negative strides.
 * @example
 * ```ts
 * import { extents, layoutStrideRelaxed } from 'dlpack/mdspan';
 * const reversed = layoutStrideRelaxed(extents(2, 3), [-3, -1], 5);
 * console.log(reversed.offsetAt(0, 0), reversed.offsetAt(1, 2)); // 5 0
 * ```
 */
export function layoutStrideRelaxed<S extends BigShape>(
  extents: Extents<S>,
  strides: PerAxis<NoInfer<S>>,
  offset: IntegerOf<NoInfer<S>> = 0 as IntegerOf<S>,
): RelaxedMapping<S> {
  checkExtents(extents);
  const checked = checkedStrides(extents, strides);
  if (!(extents.usesBigInt ? isInt64(offset) : Number.isSafeInteger(offset)) || offset < 0) {
    throw new ArgumentValueError('offset', 'an integer of zero or more (offset must be nonnegative)', offset);
  }
  const below = -(reachOf(extents, checked)?.low ?? 0);
  if (offset < below) {
    throw new LayoutError(
      `Expected an offset of at least ${below} for strides [${checked.join(', ')}] but received ${offset} ` +
        '(offset is insufficient for negative strides)',
      numbersOf(extents.lengths),
      numbersOf(checked),
    );
  }
  return new RelaxedMapping(extents, checked, typeof offset === 'bigint' ? exact(offset) : offset);
}

/** The layouts that `toHostMdspan`, `toDeviceMdspan` and `toManagedMdspan` can make. */
export type LayoutPolicy = typeof layoutRight | typeof layoutLeft | typeof layoutStride | typeof layoutStrideRelaxed;

/** The mapping that a layout makes for a shape. */
export type MappingFor<L extends LayoutPolicy, S extends BigShape> = L extends typeof layoutRight
  ? RightMapping<S>
  : L extends typeof layoutLeft
    ? LeftMapping<S>
    : L extends typeof layoutStride
      ? StrideMapping<S>
      : RelaxedMapping<S>;
