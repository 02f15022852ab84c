/**
 * Extents of views: the elements of an extent, or some of them, in another order or shape. A view never leaves the
 * elements of its source. The loops go by index and make no closures, because views are as fast as NumPy's
 * (bench/results/everyday.md).
 */

import { ArgumentTypeError, ArgumentValueError, describe, IndexError, isUsable, LayoutError } from './errors.js';
import {
  checkIndex,
  checkIntegers,
  checkShape,
  type Extent,
  inferShape,
  isContiguous,
  MAX_NDIM,
  rowMajorStrides,
  sizeOf,
  tooLarge,
} from './layout.js';

/** One axis of `slice`: an index (drops the axis), `[start, stop, step]` as in Python, or null for all. */
export type SliceRange =
  | number
  | null
  | undefined
  | readonly [start?: number | null, stop?: number | null, step?: number | null];

/** An axis, counted from the first. */
export function checkAxis(axis: number, ndim: number, argument = 'axis'): number {
  if (!Number.isInteger(axis) || axis < -ndim || axis >= ndim) {
    throw new IndexError(
      `Expected an axis from ${-ndim} to ${ndim - 1} for ${argument} but received ${describe(axis)}`,
      axis,
    );
  }
  return axis < 0 ? axis + ndim : axis;
}

function checkAxes(axes: number | readonly number[], ndim: number): number[] {
  return (typeof axes === 'number' ? [axes] : checkIntegers(axes, 'axes')).map((axis) => checkAxis(axis, ndim));
}

/** Axes in another order; reversed when `axes` is absent. */
export function transposeExtent(extent: Extent, axes?: readonly number[]): Extent {
  const { shape, strides, offset } = extent;
  const ndim = shape.length;
  const order = axes === undefined ? null : checkIntegers(axes, 'axes');
  if (order !== null && order.length !== ndim) {
    throw new ArgumentValueError('axes', `a permutation of ${ndim} axes`, axes);
  }
  const newShape = new Array<number>(ndim);
  const newStrides = new Array<number>(ndim);
  for (let i = 0; i < ndim; i++) {
    const from = order === null ? ndim - 1 - i : checkAxis(order[i] as number, ndim, 'axes');
    if (order !== null && isNamedBefore(order, i, from)) {
      throw new ArgumentValueError('axes', `a permutation of ${ndim} axes`, axes);
    }
    newShape[i] = shape[from] as number;
    newStrides[i] = strides[from] as number;
  }
  return { shape: newShape, strides: newStrides, offset };
}

/** True when an entry before `end` names this axis. */
function isNamedBefore(order: readonly number[], end: number, axis: number): boolean {
  for (let i = 0; i < end; i++) if (order[i] === axis || order[i] === axis - order.length) return true;
  return false;
}

/** Basic slicing with Python's rules: bounds are clamped, negative bounds count from the end, steps may be negative. */
export function sliceExtent(extent: Extent, ranges: readonly SliceRange[]): Extent {
  const { shape, strides } = extent;
  if (ranges.length > shape.length) {
    throw new IndexError(
      `Expected at most ${shape.length} ranges for shape [${shape.join(', ')}] but received ${ranges.length}`,
      ranges,
    );
  }
  const newShape: number[] = [];
  const newStrides: number[] = [];
  let { offset } = extent;
  let isEmpty = false;
  for (let i = 0; i < shape.length; i++) {
    const length = shape[i] as number;
    const stride = strides[i] as number;
    const range = i < ranges.length ? ranges[i] : null;
    if (typeof range === 'number') {
      offset += checkIndex(range, length, i) * stride;
      continue;
    }
    let count = length;
    let step = 1;
    if (range !== null && range !== undefined) {
      if (!isUsable(range) || !Array.isArray(range) || range.length > 3) {
        throw new ArgumentTypeError(`range ${i}`, 'an index, null or [start, stop, step]', range);
      }
      // Read by index, because taking the array apart would use its iterator.
      step = range.length > 2 ? integerOr(range[2], 1, i, 'step') : 1;
      if (step === 0) throw new ArgumentValueError(`range ${i} step`, 'a step other than zero', 0);
      const start = boundOf(range.length > 0 ? range[0] : null, step > 0 ? 0 : length - 1, step, length, i, 'start');
      const stop = boundOf(range.length > 1 ? range[1] : null, step > 0 ? length : -1, step, length, i, 'stop');
      count = Math.max(0, Math.ceil((stop - start) / step));
      offset += start * stride;
    }
    if (count === 0) isEmpty = true;
    newShape.push(count);
    newStrides.push(step === 1 ? stride : checkedStride(stride * step, shape));
  }
  // The offset of an empty slice could lie outside the memory, so keep the first element of the source.
  return { shape: newShape, strides: newStrides, offset: isEmpty ? extent.offset : offset };
}

/** One end of a range, clamped to the axis. */
function boundOf(
  bound: number | null | undefined,
  missing: number,
  step: number,
  length: number,
  axis: number,
  which: string,
): number {
  if (bound === null || bound === undefined) return missing;
  const at = integerOr(bound, 0, axis, which);
  const fromStart = at < 0 ? at + length : at;
  return step > 0 ? Math.min(Math.max(fromStart, 0), length) : Math.min(Math.max(fromStart, -1), length - 1);
}

function checkedStride(stride: number, shape: readonly number[]): number {
  if (!Number.isSafeInteger(stride)) throw tooLarge('a stride of at most 2^53', shape);
  return stride + 0; // 0 times a negative step is -0
}

function integerOr(value: number | null | undefined, fallback: number, axis: number, which: string): number {
  if (value === null || value === undefined) return fallback;
  if (!Number.isSafeInteger(value)) throw new ArgumentTypeError(`range ${axis} ${which}`, 'an integer', value);
  return value;
}

/** The error of a reshape for which no strides exist. */
export function needsCopy(extent: Extent, shape: readonly number[]): LayoutError {
  return new LayoutError(
    `Expected strides that allow shape [${shape.join(', ')}] without a copy but [${extent.shape.join(', ')}] has ` +
      `[${extent.strides.join(', ')}]; copy it first with contiguous()`,
    extent.shape,
    extent.strides,
  );
}

/** The same elements in another shape without a copy, or null when no strides describe it. */
export function reshapeExtent(extent: Extent, requested: readonly number[]): Extent | null {
  const { shape, strides, offset } = extent;
  const size = sizeOf(shape);
  const target = inferShape(requested, size);
  if (isContiguous(shape, strides)) return { shape: target, strides: rowMajorStrides(target), offset };

  // Axes of length one do not matter. The other axes are matched in groups of old and new axes with the same product.
  const oldAxes = shape.flatMap((length, i) => (length === 1 ? [] : [[length, strides[i] as number] as const]));
  const newStrides = new Array<number>(target.length);
  let taken = 0;
  let i = 0;
  while (i < target.length) {
    if (target[i] === 1) {
      newStrides[i++] = 0;
      continue;
    }
    let have = 1;
    let want = 1;
    const from = taken;
    const first = i;
    do {
      if (want <= have) want *= target[i++] as number;
      else have *= (oldAxes[taken++] as readonly [number, number])[0];
    } while (want !== have);
    for (let k = from; k + 1 < taken; k++) {
      const [, stride] = oldAxes[k] as readonly [number, number];
      const [nextLength, nextStride] = oldAxes[k + 1] as readonly [number, number];
      if (stride !== nextLength * nextStride) return null;
    }
    let step = (oldAxes[taken - 1] as readonly [number, number])[1];
    for (let k = i - 1; k >= first; k--) {
      newStrides[k] = step;
      step *= target[k] as number;
    }
  }
  // A length-one axis gets its row-major stride.
  for (let k = target.length - 1; k >= 0; k--) {
    if (target[k] === 1) {
      newStrides[k] = k + 1 < target.length ? (newStrides[k + 1] as number) * (target[k + 1] as number) : 1;
    }
  }
  return { shape: target, strides: newStrides, offset };
}

/** Repeats axes of length one with stride zero, as NumPy's `broadcast_to`. */
export function broadcastExtent(extent: Extent, requested: readonly number[]): Extent {
  const { shape, strides, offset } = extent;
  const target = checkShape(requested);
  const lead = target.length - shape.length;
  const newStrides = target.map((length, i) => {
    const from = i - lead;
    if (from < 0) return 0;
    const have = shape[from] as number;
    if (have === length) return strides[from] as number;
    return have === 1 ? 0 : Number.NaN;
  });
  if (lead < 0 || newStrides.some(Number.isNaN)) {
    throw new LayoutError(
      `Expected a shape that [${shape.join(', ')}] broadcasts to but received [${target.join(', ')}]`,
      target,
    );
  }
  return { shape: target, strides: newStrides, offset };
}

/** Drops axes of length one: all of them, or the named axes. */
export function squeezeExtent(extent: Extent, axes?: number | readonly number[]): Extent {
  const { shape, strides, offset } = extent;
  const named = axes === undefined ? null : checkAxes(axes, shape.length);
  for (const axis of named ?? []) {
    if (shape[axis] !== 1) {
      throw new LayoutError(
        `Expected an axis of length 1 to squeeze but axis ${axis} of [${shape.join(', ')}] has ${shape[axis]}`,
        shape,
      );
    }
  }
  const keep = (i: number): boolean => (named === null ? shape[i] !== 1 : !named.includes(i));
  return { shape: shape.filter((_, i) => keep(i)), strides: strides.filter((_, i) => keep(i)), offset };
}

/** Inserts an axis of length one before `axis`. */
export function expandExtent(extent: Extent, axis: number): Extent {
  const ndim = extent.shape.length;
  if (ndim === MAX_NDIM) throw new LayoutError(`Expected at most ${MAX_NDIM} axes but this would make ${ndim + 1}`);
  const at = checkAxis(axis, ndim + 1);
  const shape = [...extent.shape];
  const strides = [...extent.strides];
  const stride = at < ndim ? checkedStride((shape[at] as number) * (strides[at] as number), shape) : 1;
  shape.splice(at, 0, 1);
  strides.splice(at, 0, stride);
  return { shape, strides, offset: extent.offset };
}

/** Reverses axes: all of them, or the named axes. */
export function flipExtent(extent: Extent, axes?: number | readonly number[]): Extent {
  const { shape } = extent;
  const named = axes === undefined ? shape.map((_, i) => i) : checkAxes(axes, shape.length);
  const strides = [...extent.strides];
  let { offset } = extent;
  const empty = shape.includes(0);
  for (const axis of new Set(named)) {
    const stride = strides[axis] as number;
    if (!empty) offset += ((shape[axis] as number) - 1) * stride;
    strides[axis] = stride === 0 ? 0 : -stride;
  }
  return { shape, strides, offset };
}
