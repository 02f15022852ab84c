/**
 * The layouts of C++: right (row-major), left (column-major), stride (positive strides), and CUDA's relaxed stride (zero
 * and negative strides, and an offset).
 *
 * @module
 */

import { ArgumentTypeError, ArgumentValueError, LayoutError } from '../errors.js';
import { checkStrides, spanOf } from '../layout.js';
import { Extents, type PerAxis, type Shape } from './extents.js';
import { checkMapping, type LayoutMapping, type StridedMapping, stridesOf } from './mapping.js';

/** As `spanOf`, but without elements the strides do not matter, however large they are. */
export function reachOf(lengths: Shape, strides: readonly number[]): { low: number; high: number } | null {
  return lengths.includes(0) ? null : spanOf(lengths, strides);
}

/** Names of the layouts of this package. */
export type LayoutName = 'layoutRight' | 'layoutLeft' | 'layoutStride' | 'layoutStrideRelaxed';

abstract class StridesMapping<S extends Shape> implements StridedMapping<S> {
  abstract readonly layout: LayoutName;
  abstract readonly isUnique: boolean;
  abstract readonly isExhaustive: boolean;
  abstract readonly isStrided: boolean;
  readonly extents: Extents<S>;
  /** In elements, in a frozen array. */
  readonly strides: PerAxis<S>;
  /** The offset of the index that is all zeros. */
  readonly offset: number;
  readonly requiredSpanSize: number;

  constructor(extents: Extents<S>, strides: readonly number[], offset: number) {
    this.extents = extents;
    this.strides = Object.freeze(strides) as unknown as PerAxis<S>;
    this.offset = offset;
    const span = reachOf(extents.lengths, strides);
    this.requiredSpanSize = span === null ? 0 : extents.checkIndex(offset + span.high + 1, 'requiredSpanSize');
  }

  stride(axis: number): number {
    return this.strides[this.extents.checkAxis(axis)] as number;
  }

  offsetAt(...index: PerAxis<S>): number {
    let offset = this.offset;
    for (let axis = 0; axis < this.strides.length; axis++) {
      offset += (index[axis] as number) * (this.strides[axis] as number);
    }
    return offset;
  }

  /** True when both mappings are equal: the same extents, strides and offset. */
  equals(other: LayoutMapping): boolean {
    checkMapping(other);
    if (!this.extents.equals(other.extents)) return false;
    const strides = stridesOf(other);
    const otherOffset = other instanceof StridesMapping ? other.offset : 0;
    return this.offset === otherOffset && strides.every((stride, axis) => stride === this.strides[axis]);
  }
}

export class RightMapping<S extends Shape = Shape> extends StridesMapping<S> {
  readonly layout = 'layoutRight';
  readonly isUnique = true;
  readonly isExhaustive = true;
  readonly isStrided = true;
}

export class LeftMapping<S extends Shape = Shape> extends StridesMapping<S> {
  readonly layout = 'layoutLeft';
  readonly isUnique = true;
  readonly isExhaustive = true;
  readonly isStrided = true;
}

export class StrideMapping<S extends Shape = Shape> extends StridesMapping<S> {
  readonly layout = 'layoutStride';
  readonly isUnique = true;
  readonly isStrided = true;

  get isExhaustive(): boolean {
    const { lengths } = this.extents;
    if (this.requiredSpanSize > 0) return this.requiredSpanSize === this.extents.size;
    // Without elements the standard still requires an order in which the strides leave no gap. Such an order exists
    // unless an axis other than the outermost is empty.
    if (lengths.length === 1) return this.strides[0] === 1;
    const outermost = this.strides.indexOf(Math.max(...this.strides));
    return lengths.every((length, axis) => axis === outermost || length !== 0);
  }
}

/**
 * Like CUDA's mapping, it guarantees neither uniqueness nor exhaustiveness, and reports that it is strided only without
 * an offset.
 */
export class RelaxedMapping<S extends Shape = Shape> extends StridesMapping<S> {
  readonly layout = 'layoutStrideRelaxed';
  readonly isUnique = false;
  readonly isExhaustive = false;

  get isStrided(): boolean {
    return this.offset === 0;
  }
}

/** Products of lengths as in C++: an empty axis makes the strides of the outer axes zero. */
function packedStrides(lengths: Shape, order: readonly number[]): readonly number[] {
  const strides = new Array<number>(lengths.length);
  let step = 1;
  for (const axis of order) {
    strides[axis] = step;
    step *= lengths[axis] as number;
  }
  return strides;
}

function checkExtents(extents: Extents): void {
  if (!(extents instanceof Extents)) throw new ArgumentTypeError('extents', 'extents(...) or dims(...)', extents);
}

/** Row-major: the last axis is contiguous. */
export function layoutRight<S extends Shape>(extents: Extents<S>): RightMapping<S> {
  checkExtents(extents);
  const axes = extents.lengths.map((_, axis) => axis).reverse();
  return new RightMapping(extents, packedStrides(extents.lengths, axes), 0);
}

/** Column-major: the first axis is contiguous. */
export function layoutLeft<S extends Shape>(extents: Extents<S>): LeftMapping<S> {
  checkExtents(extents);
  const axes = extents.lengths.map((_, axis) => axis);
  return new LeftMapping(extents, packedStrides(extents.lengths, axes), 0);
}

/** A layout with positive strides, in which every index has its own element. */
export function layoutStride<S extends Shape>(extents: Extents<S>, strides: PerAxis<NoInfer<S>>): StrideMapping<S> {
  checkExtents(extents);
  const checked = checkStrides(strides, extents.lengths);
  if (checked.some((stride) => stride <= 0)) {
    throw new ArgumentValueError(
      'strides',
      'strides of one or more (layoutStride requires strictly positive strides)',
      checked,
    );
  }
  checkUnique(extents.lengths, checked);
  return new StrideMapping(extents, checked, 0);
}

/** Throws if two indices share an element. An axis of length one cannot cause that, and neither can an empty layout. */
function checkUnique(lengths: Shape, strides: readonly number[]): void {
  if (lengths.includes(0)) return;
  const axes = lengths.map((length, axis) => ({ length, stride: strides[axis] as number }));
  const inward = axes.filter(({ length }) => length > 1).sort((a, b) => a.stride - b.stride);
  let reach = 1;
  for (const { length, stride } of inward) {
    if (stride < reach) {
      throw new LayoutError(
        `Expected strides that lead to a unique mapping for layoutStride but extents [${lengths.join(', ')}] with strides ` +
          `[${strides.join(', ')}] share elements; layoutStrideRelaxed allows that`,
        lengths,
        strides,
      );
    }
    reach = stride * length;
  }
}

/** A layout with any strides, including zero and negative ones, and with an offset for the index that is all zeros. */
export function layoutStrideRelaxed<S extends Shape>(
  extents: Extents<S>,
  strides: PerAxis<NoInfer<S>>,
  offset = 0,
): RelaxedMapping<S> {
  checkExtents(extents);
  const checked = checkStrides(strides, extents.lengths);
  if (!Number.isSafeInteger(offset) || offset < 0) {
    throw new ArgumentValueError('offset', 'an integer of zero or more (offset must be nonnegative)', offset);
  }
  const below = -(reachOf(extents.lengths, checked)?.low ?? 0);
  if (offset < below) {
    throw new LayoutError(
      `Expected an offset of at least ${below} for strides [${checked.join(', ')}] but received ${offset} ` +
        '(offset is insufficient for negative strides)',
      extents.lengths,
      checked,
    );
  }
  return new RelaxedMapping(extents, checked, offset);
}

/** The layouts that `toHostMdspan`, `toDeviceMdspan` and `toManagedMdspan` can make. */
export type LayoutPolicy = typeof layoutRight | typeof layoutLeft | typeof layoutStride | typeof layoutStrideRelaxed;

/** The mapping that a layout makes for a shape. */
export type MappingFor<L extends LayoutPolicy, S extends Shape> = L extends typeof layoutRight
  ? RightMapping<S>
  : L extends typeof layoutLeft
    ? LeftMapping<S>
    : L extends typeof layoutStride
      ? StrideMapping<S>
      : RelaxedMapping<S>;
