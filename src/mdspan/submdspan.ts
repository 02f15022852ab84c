/** Parts of spans, over the same memory. */

import { ArgumentTypeError, IndexError, isA, LayoutError } from '../errors.js';
import type { Accessor } from './accessor.js';
import type { ElementType } from './element-type.js';
import { type BigShape, Extents } from './extents.js';
import { type Integer, multiply, numbersOf } from './integers.js';
import {
  LeftMapping,
  layoutLeft,
  layoutRight,
  layoutStride,
  layoutStrideRelaxed,
  RelaxedMapping,
  RightMapping,
} from './layouts.js';
import {
  type AxisPart,
  isStridedMapping,
  type LayoutMapping,
  type MappingPart,
  type StridedMapping,
  stridesOf,
} from './mapping.js';
import { resolveSlice, type Slice, type SlicedShape, type SlicesFor } from './slices.js';
import { Mdspan, type SpanOf, spanClasses } from './span.js';

/** A span of any kind. */
export type AnyMdspan = Mdspan<ElementType | null, BigShape, LayoutMapping<BigShape>, Accessor<unknown, unknown>>;
/** The mapping of a part of a span. */
export type PartMapping<M, S extends BigShape> =
  M extends StridedMapping<BigShape> ? StridedMapping<S> : LayoutMapping<S>;
/** The span that slices select. */
export type PartOf<T extends AnyMdspan, P extends readonly unknown[]> =
  T extends Mdspan<infer D, infer S, infer M, infer A>
    ? SpanOf<T['kind'], D, SlicedShape<S, P>, PartMapping<M, SlicedShape<S, P>>, A>
    : never;

/**
 * Makes a span of the part that the slices select, without a copy. Row-major and column-major layouts stay so where
 * possible. Other parts of strided layouts are strided.
 *
 * @param span - The whole.
 * @param slices - One for each axis: an index, `[begin, end]`, a {@link stridedSlice}, or {@link fullExtent}.
 * @returns A span that shares the memory.
 * @throws ArgumentTypeError for anything but a span and slices, and IndexError for a slice outside of its axis or too
 *   few of them.
 * @throws LayoutError for a layout that has neither strides nor `part()`.
 * @example
 * ```ts
 * import { extents, fullExtent, hostMdspan, submdspan } from 'dlpack/mdspan';
 * const span = hostMdspan(new Int32Array([0, 1, 2, 3, 4, 5]), extents(2, 3));
 * console.log([...submdspan(span, fullExtent, 1)]); // [1, 4]
 * ```
 */
export function submdspan<T extends AnyMdspan, const P extends SlicesFor<T['shape']>>(
  span: T,
  ...slices: P
): PartOf<T, P>;
export function submdspan(span: AnyMdspan, ...slices: readonly Slice[]): unknown {
  if (!isA(span as unknown, Mdspan)) throw new ArgumentTypeError('span', 'an mdspan', span);
  const { mapping, accessor } = span;
  const { lengths } = mapping.extents;
  if (slices.length !== lengths.length) {
    throw new IndexError(
      `Expected ${lengths.length} slices for extents [${lengths.join(', ')}] but received ${slices.length}`,
      slices,
    );
  }
  const parts = slices.map((slice, axis) => resolveSlice(slice, lengths[axis] as Integer, axis));
  const part = partOf(mapping, parts);
  const handle = accessor.offset(span.dataHandle, part.offset);
  return new spanClasses[span.kind](handle as never, part.mapping as never, accessor as never);
}

function partOf(mapping: LayoutMapping<BigShape>, parts: readonly AxisPart<Integer>[]): MappingPart {
  if (typeof mapping.part === 'function') {
    const part: MappingPart | undefined = mapping.part(parts);
    if (!Number.isSafeInteger(part?.offset)) throw new ArgumentTypeError('part()', '{ mapping, offset }', part);
    return part as MappingPart;
  }
  if (!isStridedMapping(mapping) || !(mapping.isStrided || mapping instanceof RelaxedMapping)) {
    throw new LayoutError(
      'Expected a strided layout or one with a part() method for submdspan but this one has neither',
      numbersOf(mapping.extents.lengths),
    );
  }
  const extents = partExtents(mapping.extents, parts);
  // The offset of an empty part could lie outside of the memory, so stay at the start. All others lie inside.
  const offset = extents.lengths.includes(0) ? 0 : (mapping.offsetAt(...parts.map((part) => part.start)) as number);
  const all = stridesOf(mapping);
  const strides = parts.flatMap((part, axis) => (part.isIndex ? [] : [multiply(all[axis] as Integer, part.step)]));
  // A relaxed mapping keeps its handle and changes its own offset, so that negative strides still have room below.
  if (mapping instanceof RelaxedMapping) return { mapping: layoutStrideRelaxed(extents, strides, offset), offset: 0 };
  if (mapping instanceof RightMapping && isOuterBlock(parts)) return { mapping: layoutRight(extents), offset };
  if (mapping instanceof LeftMapping && isOuterBlock([...parts].reverse())) {
    return { mapping: layoutLeft(extents), offset };
  }
  const isPositive = strides.every((stride) => stride > 0);
  return { mapping: isPositive ? layoutStride(extents, strides) : layoutStrideRelaxed(extents, strides), offset };
}

function partExtents(extents: Extents<BigShape>, parts: readonly AxisPart<Integer>[]): Extents<BigShape> {
  const kept = parts.flatMap((part, axis) => (part.isIndex ? [] : [{ part, axis }]));
  return new Extents(
    kept.map(({ part }) => part.count),
    kept.map(({ part, axis }) => part.isFull && extents.staticExtent(axis) !== null),
    extents.indexType,
    extents.usesBigInt,
  );
}

/**
 * True for a part without gaps. From the outermost axis inwards it has indices, then at most one contiguous range, then
 * whole axes.
 */
function isOuterBlock(parts: readonly AxisPart<Integer>[]): boolean {
  const first = parts.findIndex((part) => !part.isIndex);
  if (first < 0) return true;
  return parts.slice(first).every((part, i) => part.isFull || (i === 0 && !part.isIndex && part.step === 1));
}
