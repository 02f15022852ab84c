/**
 * Shape and stride arithmetic. Strides are in elements and may be zero or negative. All results are checked: a value
 * above 2^53 - 1 throws instead of being rounded, and a derived view never leaves the elements of its source.
 *
 * The arrays here are not frozen, but they never change and are never handed to user code. Engines read elements of
 * frozen arrays four times slower (measured on V8 11), so a descriptor shows frozen copies instead.
 *
 * @module
 */

import { ArgumentTypeError, ArgumentValueError, describe, IndexError, LayoutError } from './errors.js';

/** NumPy's limit, and the number of axes that a tensor on the wire can have. */
export const MAX_NDIM = 64;

/** Shape, strides, and the offset of the first element from the source's first element, all in elements. */
export interface Layout {
  readonly shape: readonly number[];
  readonly strides: readonly number[];
  readonly offset: number;
}

/** One axis of {@link sliceLayout}: an index (drops the axis), `[start, stop, step]` as in Python, or null for all. */
export type SliceRange =
  | number
  | null
  | undefined
  | readonly [start?: number | null, stop?: number | null, step?: number | null];

function tooLarge(what: string, shape: readonly number[]): LayoutError {
  return new LayoutError(`Expected ${what} of at most 2^53 - 1 but shape [${shape.join(', ')}] exceeds it`, shape);
}

function checkedMultiply(a: number, b: number, shape: readonly number[]): number {
  const product = a * b;
  if (!Number.isSafeInteger(product)) throw tooLarge('a number of elements', shape);
  return product;
}

/** A checked copy of lengths. Throws an error that names the wrong entry. The product is not checked. */
export function checkLengths(lengths: ArrayLike<number>, argument = 'shape'): readonly number[] {
  const copy = checkIntegers(lengths, argument);
  for (const length of copy) if (length < 0) throw new ArgumentValueError(argument, 'lengths of zero or more', copy);
  return copy;
}

/** A checked copy of a shape. Throws an error that names the wrong entry. The product counts empty axes as one. */
export function checkShape(shape: ArrayLike<number>, argument = 'shape'): readonly number[] {
  const copy = checkLengths(shape, argument);
  let product = 1;
  for (const length of copy) product = checkedMultiply(product, length === 0 ? 1 : length, copy);
  return copy;
}

/** A checked copy of strides for `shape`. */
export function checkStrides(strides: ArrayLike<number>, shape: readonly number[]): readonly number[] {
  const copy = checkIntegers(strides, 'strides');
  if (copy.length !== shape.length) {
    throw new LayoutError(
      `Expected ${shape.length} strides for shape [${shape.join(', ')}] but received ${copy.length}`,
      shape,
      copy,
    );
  }
  return copy;
}

function checkIntegers(values: ArrayLike<number>, argument: string): readonly number[] {
  const length = typeof values === 'object' && values !== null ? values.length : -1;
  if (!Number.isInteger(length) || length < 0) {
    throw new ArgumentTypeError(argument, 'an array of integers such as [2, 3]', values);
  }
  if (length > MAX_NDIM) {
    throw new LayoutError(`Expected at most ${MAX_NDIM} axes for ${argument} but received ${length}`);
  }
  const copy = new Array<number>(length); // exact size, because an array that grows reserves room for seventeen
  for (let i = 0; i < length; i++) {
    const value = values[i] as number;
    if (typeof value !== 'number') throw new ArgumentTypeError(`${argument}[${i}]`, 'an integer', value);
    if (!Number.isSafeInteger(value)) {
      throw new ArgumentValueError(`${argument}[${i}]`, 'an integer of at most 2^53 - 1', value);
    }
    copy[i] = value;
  }
  return copy;
}

/** Number of elements. */
export function sizeOf(shape: readonly number[]): number {
  let size = 1;
  for (let i = 0; i < shape.length; i++) size = checkedMultiply(size, shape[i] as number, shape);
  return size;
}

/** Strides of a row-major tensor. An empty axis counts as one, as in NumPy. */
export function rowMajorStrides(shape: readonly number[]): readonly number[] {
  const strides = new Array<number>(shape.length);
  let step = 1;
  for (let i = shape.length - 1; i >= 0; i--) {
    strides[i] = step;
    const length = shape[i] as number;
    step = checkedMultiply(step, length === 0 ? 1 : length, shape);
  }
  return strides;
}

/** True when row-major without gaps. An empty tensor is contiguous, and strides of length-one axes do not matter. */
export function isContiguous(shape: readonly number[], strides: readonly number[]): boolean {
  let step = 1;
  let contiguous = true;
  for (let i = shape.length - 1; i >= 0; i--) {
    const length = shape[i] as number;
    if (length === 0) return true;
    if (length !== 1 && strides[i] !== step) contiguous = false;
    step *= length;
  }
  return contiguous;
}

/** The lowest and highest element, relative to the first element; null for an empty tensor. */
export function spanOf(shape: readonly number[], strides: readonly number[]): { low: number; high: number } | null {
  let low = 0;
  let high = 0;
  for (let i = 0; i < shape.length; i++) {
    const length = shape[i] as number;
    if (length === 0) return null;
    const reach = (length - 1) * (strides[i] as number);
    if (reach < 0) low += reach;
    else high += reach;
    if (!Number.isSafeInteger(reach) || !Number.isSafeInteger(low) || !Number.isSafeInteger(high)) {
      throw new LayoutError(
        `Expected a memory span of at most 2^53 - 1 elements but shape [${shape.join(', ')}] with strides [${strides.join(', ')}] exceeds it`,
        shape,
        strides,
      );
    }
  }
  return { low, high };
}

function makeLayout(shape: number[], strides: number[], offset: number): Layout {
  return { shape, strides, offset };
}

function checkAxis(axis: number, ndim: number, argument = 'axis'): number {
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

/** The distance in elements from the first element to `index`. Negative indices count from the end. */
export function offsetOf(shape: readonly number[], strides: readonly number[], index: readonly number[]): number {
  if (index.length !== shape.length) {
    throw new IndexError(
      `Expected ${shape.length} indices for shape [${shape.join(', ')}] but received ${index.length}`,
      index,
    );
  }
  let offset = 0;
  for (let i = 0; i < shape.length; i++) {
    const length = shape[i] as number;
    const at = index[i] as number;
    if (!Number.isInteger(at) || at < -length || at >= length) {
      throw new IndexError(
        `Expected an index from ${-length} to ${length - 1} on axis ${i} but received ${describe(at)}`,
        at,
      );
    }
    offset += (at < 0 ? at + length : at) * (strides[i] as number);
  }
  return offset;
}

/** Axes in another order; reversed when `axes` is absent. */
export function transposeLayout(layout: Layout, axes?: readonly number[]): Layout {
  const { shape, strides, offset } = layout;
  const ndim = shape.length;
  const order = axes === undefined ? shape.map((_, i) => ndim - 1 - i) : checkIntegers(axes, 'axes');
  if (order.length !== ndim) {
    throw new ArgumentValueError('axes', `a permutation of ${ndim} axes`, axes);
  }
  const seen = new Set<number>();
  const newShape: number[] = [];
  const newStrides: number[] = [];
  for (const axis of order) {
    const from = checkAxis(axis, ndim, 'axes');
    if (seen.has(from)) throw new ArgumentValueError('axes', `a permutation of ${ndim} axes`, axes);
    seen.add(from);
    newShape.push(shape[from] as number);
    newStrides.push(strides[from] as number);
  }
  return makeLayout(newShape, newStrides, offset);
}

/** Basic slicing with Python's rules: bounds are clamped, negative bounds count from the end, steps may be negative. */
export function sliceLayout(layout: Layout, ranges: readonly SliceRange[]): Layout {
  const { shape, strides } = layout;
  if (ranges.length > shape.length) {
    throw new IndexError(
      `Expected at most ${shape.length} ranges for shape [${shape.join(', ')}] but received ${ranges.length}`,
      ranges,
    );
  }
  const newShape: number[] = [];
  const newStrides: number[] = [];
  let { offset } = layout;
  for (let i = 0; i < shape.length; i++) {
    const length = shape[i] as number;
    const stride = strides[i] as number;
    const range = ranges[i];
    if (range === null || range === undefined) {
      newShape.push(length);
      newStrides.push(stride);
    } else if (typeof range === 'number') {
      offset += offsetOf([length], [stride], [range]);
    } else {
      const { start, count, step } = resolveRange(range, length, i);
      newShape.push(count);
      newStrides.push(checkedStride(stride * step, shape));
      offset += start * stride;
    }
  }
  // The offset of an empty slice could lie outside the memory, so keep the first element of the source.
  return makeLayout(newShape, newStrides, newShape.includes(0) ? layout.offset : offset);
}

function checkedStride(stride: number, shape: readonly number[]): number {
  if (!Number.isSafeInteger(stride)) throw tooLarge('a stride', shape);
  return stride + 0; // 0 times a negative step is -0
}

function resolveRange(
  range: readonly [start?: number | null, stop?: number | null, step?: number | null],
  length: number,
  axis: number,
): { start: number; count: number; step: number } {
  if (!Array.isArray(range) || range.length > 3) {
    throw new ArgumentTypeError(`range ${axis}`, 'an index, null or [start, stop, step]', range);
  }
  const [from, to, by] = range;
  const step = integerOr(by, 1, `range ${axis} step`);
  if (step === 0) throw new ArgumentValueError(`range ${axis} step`, 'a step other than zero', 0);
  const [first, last] = step > 0 ? [0, length] : [length - 1, -1];
  const clamp = (at: number): number => {
    const fromStart = at < 0 ? at + length : at;
    return step > 0 ? Math.min(Math.max(fromStart, 0), length) : Math.min(Math.max(fromStart, -1), length - 1);
  };
  const start = from == null ? first : clamp(integerOr(from, 0, `range ${axis} start`));
  const stop = to == null ? last : clamp(integerOr(to, 0, `range ${axis} stop`));
  return { start, count: Math.max(0, Math.ceil((stop - start) / step)), step };
}

function integerOr(value: number | null | undefined, fallback: number, argument: string): number {
  if (value === null || value === undefined) return fallback;
  if (!Number.isSafeInteger(value)) throw new ArgumentTypeError(argument, 'an integer', value);
  return value;
}

/** Computes the length of one `-1` axis in a requested shape from the size. */
export function inferShape(requested: readonly number[], size: number): readonly number[] {
  // Copy first, because a getter may return something else the second time.
  const shape = checkIntegers(requested, 'shape') as number[];
  const unknown = shape.indexOf(-1);
  if (unknown >= 0) {
    if (shape.indexOf(-1, unknown + 1) >= 0) throw new ArgumentValueError('shape', 'at most one length of -1', shape);
    shape[unknown] = 1;
    const rest = sizeOf(checkShape(shape));
    if (rest > 0 && size % rest === 0) shape[unknown] = size / rest;
    else shape[unknown] = -1;
  }
  if (shape[unknown] === -1 || sizeOf(checkShape(shape)) !== size) {
    const has = shape[unknown] === -1 ? 'which no length fits' : `which has ${sizeOf(shape)}`;
    throw new LayoutError(`Expected a shape of ${size} elements but received [${shape.join(', ')}], ${has}`, shape);
  }
  return shape;
}

/** The same elements in another shape without a copy, or null when no strides describe it. */
export function reshapeLayout(layout: Layout, requested: readonly number[]): Layout | null {
  const { shape, strides, offset } = layout;
  const size = sizeOf(shape);
  const target = inferShape(requested, size);
  if (size === 0) return { shape: target, strides: rowMajorStrides(target), offset };

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
export function broadcastLayout(layout: Layout, requested: readonly number[]): Layout {
  const { shape, strides, offset } = layout;
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
export function squeezeLayout(layout: Layout, axes?: number | readonly number[]): Layout {
  const { shape, strides, offset } = layout;
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
  return makeLayout(
    shape.filter((_, i) => keep(i)),
    strides.filter((_, i) => keep(i)),
    offset,
  );
}

/** Inserts an axis of length one before `axis`. */
export function expandLayout(layout: Layout, axis: number): Layout {
  const ndim = layout.shape.length;
  if (ndim === MAX_NDIM) throw new LayoutError(`Expected at most ${MAX_NDIM} axes but this would make ${ndim + 1}`);
  const at = checkAxis(axis, ndim + 1);
  const shape = [...layout.shape];
  const strides = [...layout.strides];
  const stride = at < ndim ? checkedStride((shape[at] as number) * (strides[at] as number), shape) : 1;
  shape.splice(at, 0, 1);
  strides.splice(at, 0, stride);
  return makeLayout(shape, strides, layout.offset);
}

/** Reverses axes: all of them, or the named axes. */
export function flipLayout(layout: Layout, axes?: number | readonly number[]): Layout {
  const { shape } = layout;
  const named = axes === undefined ? shape.map((_, i) => i) : checkAxes(axes, shape.length);
  const strides = [...layout.strides];
  let { offset } = layout;
  const empty = shape.includes(0);
  for (const axis of new Set(named)) {
    const stride = strides[axis] as number;
    if (!empty) offset += ((shape[axis] as number) - 1) * stride;
    strides[axis] = stride === 0 ? 0 : -stride;
  }
  return makeLayout([...shape], strides, offset);
}
