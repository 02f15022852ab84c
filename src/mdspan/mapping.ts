/**
 * The interface of layouts, which map indices to element offsets. The four layouts of this package implement it, and
 * user-written layouts can, too.
 */

import { ArgumentTypeError, describe, IndexError, LayoutError } from '../errors.js';
import { type BigShape, Extents, type IntegerOf, type NumberShape, type PerAxis } from './extents.js';
import { type Integer, isInt64, numbersOf } from './integers.js';

/** A part of one axis: `count` elements from `start` on, `step` apart. An index drops the axis. */
export interface AxisPart<I extends Integer = number> {
  /** The first index. */
  readonly start: number;
  /** The number of indices. */
  readonly count: I;
  /** The distance between them. */
  readonly step: number;
  /** True when the axis is dropped. */
  readonly isIndex: boolean;
  /** True when the whole axis was requested without bounds. */
  readonly isFull: boolean;
}

/** The mapping of a part, and the offset of its first element for the accessor. */
export interface MappingPart {
  /** The mapping of the part. */
  readonly mapping: LayoutMapping<BigShape>;
  /** Elements from the first element of the whole to the first of the part. */
  readonly offset: number;
}

/** Integers are numbers where these are exact, and bigints beyond 2^53 - 1 if the extents were made with a bigint. */
export interface LayoutMapping<S extends BigShape = NumberShape> {
  /** The lengths of the axes. */
  readonly extents: Extents<S>;
  /** One more than the largest offset; 0 when there are no elements. */
  readonly requiredSpanSize: IntegerOf<S>;
  /** True when no two indices share an element. */
  readonly isUnique: boolean;
  /** True when every offset below {@link requiredSpanSize} belongs to an index. */
  readonly isExhaustive: boolean;
  /** True when each axis has a constant distance between neighbours. */
  readonly isStrided: boolean;
  /**
   * Returns the offset of an element, in elements, from 0 up to but not including {@link requiredSpanSize}.
   *
   * @param index - One index for each axis.
   */
  offsetAt(...index: PerAxis<S>): IntegerOf<S>;
  /**
   * Returns the mapping of a part, for `submdspan`, when strides cannot describe it.
   *
   * @param parts - What is taken of each axis.
   */
  part?(parts: readonly AxisPart<IntegerOf<S>>[]): MappingPart;
}

/** A layout mapping with one stride for each axis. */
export interface StridedMapping<S extends BigShape = NumberShape> extends LayoutMapping<S> {
  /**
   * Returns the elements from one index of an axis to the next.
   *
   * @param axis - The number of the axis, from 0.
   */
  stride(axis: number): IntegerOf<S>;
}

/** The shape of extents or of a mapping. */
export type ShapeOf<L> = L extends Extents<infer S> ? S : L extends LayoutMapping<infer S> ? S : never;

export function isStridedMapping(mapping: LayoutMapping<BigShape>): mapping is StridedMapping<BigShape> {
  return typeof (mapping as Partial<StridedMapping<BigShape>>).stride === 'function';
}

/** Throws unless the argument is a mapping. */
export function checkIsMapping(mapping: LayoutMapping<BigShape>): void {
  if (
    typeof mapping !== 'object' ||
    mapping === null ||
    !(mapping.extents instanceof Extents) ||
    typeof mapping.offsetAt !== 'function'
  ) {
    throw new ArgumentTypeError('layout', 'extents or a layout mapping', mapping);
  }
}

/**
 * Checks the mapping of a span, which may be user-written, once. Later code uses these properties without another check.
 * The offsets of elements are numbers, because no memory has more elements than a number can count.
 */
export function checkMapping(mapping: LayoutMapping<BigShape>): void {
  checkIsMapping(mapping);
  const { requiredSpanSize } = mapping;
  if (!Number.isSafeInteger(requiredSpanSize) || requiredSpanSize < 0) {
    throw new LayoutError(
      `Expected an integer from zero to 2^53 - 1 for requiredSpanSize but received ${describe(requiredSpanSize)}`,
      numbersOf(mapping.extents.lengths),
    );
  }
}

/** The offset of an index. Checks the index and, because the mapping may be user-written, the offset. */
export function offsetAt(mapping: LayoutMapping<BigShape>, index: readonly Integer[]): number {
  const { lengths } = mapping.extents;
  if (index.length !== lengths.length) {
    throw new IndexError(
      `Expected ${lengths.length} indices for extents [${lengths.join(', ')}] but received ${index.length}`,
      index,
    );
  }
  for (let axis = 0; axis < lengths.length; axis++) {
    const at = index[axis] as number;
    if (!Number.isSafeInteger(at) || at < 0 || at >= (lengths[axis] as number))
      checkBigIndex(mapping.extents, at, axis);
  }
  const offset = mapping.offsetAt(...index) as number;
  if (!Number.isInteger(offset) || offset < 0 || offset >= mapping.requiredSpanSize) {
    throw new LayoutError(
      `Expected an offset from 0 to ${(mapping.requiredSpanSize as number) - 1} from the layout but received ${describe(offset)}`,
      numbersOf(lengths),
    );
  }
  return offset;
}

/** Throws for an index that is out of bounds. Extents of bigints have bigint indices, too. */
function checkBigIndex({ lengths, usesBigInt }: Extents<BigShape>, at: Integer, axis: number): void {
  const length = lengths[axis] as Integer;
  if (usesBigInt && typeof at === 'bigint' && at >= 0n && at < length) return;
  throw new IndexError(
    `Expected an index from 0 to ${BigInt(length) - 1n} on axis ${axis} but received ${describe(at)}`,
    at,
  );
}

/** The strides of all axes, checked, because they may come from a user-written mapping. */
export function stridesOf(mapping: LayoutMapping<BigShape>): readonly Integer[] {
  const { lengths, usesBigInt } = mapping.extents;
  if (!isStridedMapping(mapping)) {
    throw new LayoutError('Expected a layout with strides but this one has no stride() method', numbersOf(lengths));
  }
  return lengths.map((_, axis) => {
    const stride = mapping.stride(axis);
    if (typeof stride !== 'number' && !(usesBigInt && typeof stride === 'bigint')) {
      throw new ArgumentTypeError(`stride ${axis}`, 'an integer', stride);
    }
    if (!isInt64(stride)) {
      throw new LayoutError(
        `Expected an integer of at most 2^${usesBigInt ? 63 : 53} - 1 for stride ${axis} but received ${stride} ` +
          '(stride is too large)',
        numbersOf(lengths),
      );
    }
    return stride;
  });
}
