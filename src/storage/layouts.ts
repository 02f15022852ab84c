/**
 * Layout: everything about a tensor except its memory. Tensors with equal layouts share one object, which the table below
 * finds. What follows from a layout is computed once. docs/design/layouts.md gives reasons and figures.
 */

import type { DeviceInfo } from '../device.js';
import { type DTypeInfo, sizeBytes, strideBits } from '../dtype.js';
import { checkShape, checkStrides, isContiguous, MAX_NDIM, rowMajorStrides, sizeOf, spanOf } from '../layout.js';

/** `DLPACK_FLAG_BITMASK_*` of dlpack.h. */
export const Flag = {
  /** The memory must not be written. `READ_ONLY`. */
  readonly: 1,
  /** The producer has copied the data for this exchange. `IS_COPIED`. */
  isCopied: 2,
  /** Each element narrower than a byte has a byte of its own. `IS_SUBBYTE_TYPE_PADDED`. */
  subBytePadded: 4,
} as const;

/** The flags that this package understands. Others are accepted and not passed on. */
export const KNOWN_FLAGS = Flag.readonly | Flag.isCopied | Flag.subBytePadded;

/** Written by hand, because a patched Array.prototype.slice would receive the original. */
function frozenCopy(values: readonly number[]): readonly number[] {
  const copy: number[] = [];
  for (let i = 0; i < values.length; i++) copy[i] = values[i] as number;
  return Object.freeze(copy);
}

/** The bits that the elements occupy, relative to the first element. Both are 0 without elements. */
export interface Reach {
  readonly low: number;
  readonly high: number;
}

/** Made by {@link findLayout}. The arrays never change and never leave the package. */
export class Layout {
  /** The number of elements. */
  readonly size: number;
  readonly isPadded: boolean;
  /** Bits from one element to the next in memory order. */
  readonly strideBits: number;
  /** True when row-major without gaps. */
  readonly isContiguous: boolean;
  /** The number under which native code keeps the layout; 0: it does not. See src/native/wire/layouts.ts. */
  number = 0;
  private foundReach: Reach | null = null;
  private shownShape: readonly number[] | null = null;
  private shownStrides: readonly number[] | null = null;

  constructor(
    readonly dtype: DTypeInfo,
    readonly device: DeviceInfo,
    readonly shape: readonly number[],
    /** In elements. */
    readonly strides: readonly number[],
    /** Bits of {@link Flag}. */
    readonly flags: number,
  ) {
    this.size = sizeOf(shape);
    this.isPadded = (flags & Flag.subBytePadded) !== 0;
    this.strideBits = strideBits(dtype, this.isPadded);
    this.isContiguous = isContiguous(shape, strides);
  }

  /** The bytes of all elements without gaps. */
  get nbytes(): number {
    return sizeBytes(this.dtype, this.size, this.isPadded);
  }

  /** Throws if a program could not count the bits. */
  get reach(): Reach {
    this.foundReach ??= this.measure();
    return this.foundReach;
  }

  private measure(): Reach {
    const span = spanOf(this.shape, this.strides);
    if (span === null) return { low: 0, high: 0 };
    return { low: span.low * this.strideBits, high: span.high * this.strideBits + this.dtype.itemBits };
  }

  /** The shape for user code: a frozen copy, because reading elements of a frozen array is slow. */
  get publicShape(): readonly number[] {
    this.shownShape ??= frozenCopy(this.shape);
    return this.shownShape;
  }

  /** The strides for user code. */
  get publicStrides(): readonly number[] {
    this.shownStrides ??= frozenCopy(this.strides);
    return this.shownStrides;
  }

  /** The same layout with other flags. */
  withFlags(flags: number): Layout {
    return flags === this.flags ? this : findLayout(this.dtype, this.device, this.shape, this.strides, flags);
  }
}

/** A power of two. Each layout has two places, so that few layouts in turns push each other out. */
const PLACES = 4096;
const table: (Layout | null)[] = new Array<Layout | null>(PLACES).fill(null);

/** The layout with these properties; row-major if `strides` is null. The arrays are checked and must not change. */
export function findLayout(
  dtype: DTypeInfo,
  device: DeviceInfo,
  shape: readonly number[],
  strides: readonly number[] | null,
  flags: number,
): Layout {
  const place = firstPlace(dtype, shape, strides);
  const known = knownAt(place, dtype, device, shape, strides, flags);
  if (known !== null) return known;
  const layout = new Layout(dtype, device, shape, strides ?? rowMajorStrides(shape), flags);
  table[place ^ 1] = table[place] as Layout | null;
  table[place] = layout;
  return layout;
}

/**
 * As {@link findLayout}, for arrays of a program. They are checked and copied only if the layout is new: those of a layout in
 * the table are equal, and were checked before.
 */
export function checkLayout(
  dtype: DTypeInfo,
  device: DeviceInfo,
  shape: readonly number[],
  strides: readonly number[] | null,
  flags: number,
): Layout {
  if (areNumbers(shape) && (strides === null || (strides.length === shape.length && areNumbers(strides)))) {
    const known = knownAt(firstPlace(dtype, shape, strides), dtype, device, shape, strides, flags);
    if (known !== null) return known;
  }
  const lengths = checkShape(shape);
  return findLayout(dtype, device, lengths, strides === null ? null : checkStrides(strides, lengths), flags);
}

/** True for an array of numbers that may be a shape: a hash of other values would call a program's code, or throw. */
function areNumbers(values: readonly unknown[]): boolean {
  if (values.length > MAX_NDIM) return false;
  for (let i = 0; i < values.length; i++) if (typeof values[i] !== 'number') return false;
  return true;
}

function knownAt(
  place: number,
  dtype: DTypeInfo,
  device: DeviceInfo,
  shape: readonly number[],
  strides: readonly number[] | null,
  flags: number,
): Layout | null {
  const first = table[place] as Layout | null;
  if (first !== null && isSame(first, dtype, device, shape, strides, flags)) return first;
  const second = table[place ^ 1] as Layout | null;
  return second !== null && isSame(second, dtype, device, shape, strides, flags) ? second : null;
}

/** Goes backwards, because the step of a row-major axis is the product of the lengths after it. */
function firstPlace(dtype: DTypeInfo, shape: readonly number[], strides: readonly number[] | null): number {
  let hash = dtype.packed | 0;
  let step = 1;
  for (let i = shape.length - 1; i >= 0; i--) {
    const length = shape[i] as number;
    hash = (Math.imul(hash, 31) + length) | 0;
    hash = (Math.imul(hash, 31) + (strides === null ? step : (strides[i] as number))) | 0;
    step *= length || 1;
  }
  return Math.imul(hash, 0x9e3779b1) >>> 20; // the upper bits, which depend on all others
}

function isSame(
  layout: Layout,
  dtype: DTypeInfo,
  device: DeviceInfo,
  shape: readonly number[],
  strides: readonly number[] | null,
  flags: number,
): boolean {
  if (layout.dtype !== dtype || layout.device !== device || layout.flags !== flags) return false;
  const { shape: lengths, strides: steps } = layout;
  if (lengths.length !== shape.length) return false;
  let step = 1;
  for (let i = lengths.length - 1; i >= 0; i--) {
    const length = lengths[i] as number;
    if (length !== shape[i] || steps[i] !== (strides === null ? step : strides[i])) return false;
    step *= length || 1;
  }
  return true;
}
