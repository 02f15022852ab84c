/** Slices: the arguments of `submdspan` for each axis. */

import { ArgumentTypeError, ArgumentValueError, IndexError, isUsable } from '../errors.js';
import type { BigShape } from './extents.js';
import type { Integer } from './integers.js';
import type { AxisPart } from './mapping.js';

/** The whole axis. */
export const fullExtent: unique symbol = Symbol('fullExtent');

/** A range with a stride, as {@link stridedSlice} makes it. */
export class StridedSlice {
  constructor(
    /** The first index. */
    readonly offset: number,
    /** How many indices the slice spans. */
    readonly extent: number,
    /** The distance between the indices that it takes. */
    readonly stride: number,
  ) {}
}

/**
 * Selects every `stride`-th of the `extent` elements from `offset` on.
 *
 * @param slice - The first index (`offset`), how many indices it spans (`extent`), and the distance of those that it
 *   takes (`stride`).
 * @returns A slice for {@link submdspan}.
 * @throws ArgumentTypeError for anything but an object, and ArgumentValueError for a number that is no integer of zero
 *   or more, or a stride of 0.
 * @example
 * ```ts
 * import { extents, hostMdspan, stridedSlice, submdspan } from 'dlpack/mdspan';
 * const span = hostMdspan(new Int32Array([0, 1, 2, 3, 4, 5]), extents(6));
 * console.log([...submdspan(span, stridedSlice({ offset: 1, extent: 5, stride: 2 }))]); // [1, 3, 5]
 * ```
 */
export function stridedSlice(slice: { offset: number; extent: number; stride: number }): StridedSlice {
  if (!isUsable(slice)) {
    throw new ArgumentTypeError('slice', '{ offset, extent, stride }', slice);
  }
  const { offset, extent, stride } = slice;
  for (const [name, value] of Object.entries({ offset, extent, stride })) {
    if (!Number.isSafeInteger(value) || value < 0) {
      throw new ArgumentValueError(name, 'an integer of zero or more', value);
    }
  }
  if (stride === 0) throw new ArgumentValueError('stride', 'a step of one or more', stride);
  return new StridedSlice(offset, extent, stride);
}

/** An index (drops the axis), a range `[begin, end]` without `end`, a {@link stridedSlice}, or {@link fullExtent}. */
export type Slice = number | readonly [begin: number, end: number] | StridedSlice | typeof fullExtent;

/** One slice for each axis. */
export type SlicesFor<S extends BigShape> = { readonly [Axis in keyof S]: Slice };

/** The shape of the result: indices drop their axis, `fullExtent` keeps a static length, ranges are dynamic. */
export type SlicedShape<S extends BigShape, P extends readonly unknown[]> = S extends readonly [
  infer Length extends Integer,
  ...infer Lengths extends BigShape,
]
  ? P extends readonly [infer First, ...infer Rest]
    ? First extends number
      ? SlicedShape<Lengths, Rest>
      : readonly [First extends typeof fullExtent ? Length : number, ...SlicedShape<Lengths, Rest>]
    : readonly number[]
  : S extends readonly []
    ? readonly []
    : readonly number[];

/** Checks a slice against the length of its axis. Unlike in Python, bounds are not clamped or counted from the end. */
export function resolveSlice(slice: Slice, length: Integer, axis: number): AxisPart<Integer> {
  if (slice === fullExtent) return { start: 0, count: length, step: 1, isIndex: false, isFull: true };
  if (typeof slice === 'number') {
    if (!Number.isSafeInteger(slice) || slice < 0 || slice >= length) {
      throw new IndexError(
        `Expected an index from 0 to ${BigInt(length) - 1n} for slice ${axis} but received ${slice} (index)`,
        slice,
      );
    }
    return { start: slice, count: 1, step: 1, isIndex: true, isFull: false };
  }
  if (slice instanceof StridedSlice) {
    const { offset, extent, stride } = slice;
    checkRange(offset, offset + extent, length, axis);
    const count = Math.ceil(extent / stride);
    // A single element has no neighbour, so its axis keeps its stride.
    return { start: offset, count, step: count > 1 ? stride : 1, isIndex: false, isFull: false };
  }
  if (Array.isArray(slice) && slice.length === 2) {
    const [begin, end] = slice as readonly [number, number];
    checkRange(begin, end, length, axis);
    return { start: begin, count: end - begin, step: 1, isIndex: false, isFull: false };
  }
  throw new ArgumentTypeError(`slice ${axis}`, 'an index, [begin, end], stridedSlice() or fullExtent', slice);
}

function checkRange(begin: number, end: number, length: Integer, axis: number): void {
  if (!Number.isSafeInteger(begin) || !Number.isSafeInteger(end) || begin < 0 || begin > end || end > length) {
    throw new IndexError(
      `Expected a range inside 0 to ${length} for slice ${axis} but received [${begin}, ${end}] (range)`,
      [begin, end],
    );
  }
}
