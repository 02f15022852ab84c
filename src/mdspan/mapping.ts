/**
 * The interface of layouts, which map indices to element offsets. The four layouts of this package implement it, and
 * user-written layouts can, too.
 *
 * @module
 */

import { ArgumentTypeError, describe, IndexError, LayoutError } from '../errors.js';
import { Extents, type PerAxis, type Shape } from './extents.js';

/** A part of one axis: `count` elements from `start` on, `step` apart. An index drops the axis. */
export interface AxisPart {
  readonly start: number;
  readonly count: number;
  readonly step: number;
  readonly isIndex: boolean;
  /** True when the whole axis was requested without bounds. */
  readonly isFull: boolean;
}

/** The mapping of a part, and the offset of its first element for the accessor. */
export interface MappingPart {
  readonly mapping: LayoutMapping;
  readonly offset: number;
}

export interface LayoutMapping<S extends Shape = Shape> {
  readonly extents: Extents<S>;
  /** One more than the largest offset; 0 when there are no elements. */
  readonly requiredSpanSize: number;
  /** True when no two indices share an element. */
  readonly isUnique: boolean;
  /** True when every offset below {@link requiredSpanSize} belongs to an index. */
  readonly isExhaustive: boolean;
  /** True when each axis has a constant distance between neighbours. */
  readonly isStrided: boolean;
  /** The offset of an element, in elements, from 0 up to but not including {@link requiredSpanSize}. */
  offsetAt(...index: PerAxis<S>): number;
  /** For `submdspan`, when strides cannot describe the part. */
  part?(parts: readonly AxisPart[]): MappingPart;
}

export interface StridedMapping<S extends Shape = Shape> extends LayoutMapping<S> {
  /** Elements from one index of an axis to the next. */
  stride(axis: number): number;
}

/** The shape of extents or of a mapping. */
export type ShapeOf<L> = L extends Extents<infer S> ? S : L extends LayoutMapping<infer S> ? S : never;

export function isStridedMapping(mapping: LayoutMapping): mapping is StridedMapping {
  return typeof (mapping as Partial<StridedMapping>).stride === 'function';
}

/** Checks a mapping, which may be user-written, once. Later code uses these properties without another check. */
export function checkMapping(mapping: LayoutMapping): void {
  if (
    typeof mapping !== 'object' ||
    mapping === null ||
    !(mapping.extents instanceof Extents) ||
    typeof mapping.offsetAt !== 'function'
  ) {
    throw new ArgumentTypeError('layout', 'extents or a layout mapping', mapping);
  }
  const { requiredSpanSize } = mapping;
  if (!Number.isSafeInteger(requiredSpanSize) || requiredSpanSize < 0) {
    throw new LayoutError(
      `Expected an integer of zero or more for requiredSpanSize but received ${describe(requiredSpanSize)}`,
      mapping.extents.lengths,
    );
  }
}

/** The offset of an index. Checks the index and, because the mapping may be user-written, the offset. */
export function offsetAt(mapping: LayoutMapping, index: readonly number[]): number {
  const { lengths } = mapping.extents;
  if (index.length !== lengths.length) {
    throw new IndexError(
      `Expected ${lengths.length} indices for extents [${lengths.join(', ')}] but received ${index.length}`,
      index,
    );
  }
  for (let axis = 0; axis < lengths.length; axis++) {
    const at = index[axis] as number;
    if (!Number.isInteger(at) || at < 0 || at >= (lengths[axis] as number)) {
      throw new IndexError(
        `Expected an index from 0 to ${(lengths[axis] as number) - 1} on axis ${axis} but received ${describe(at)}`,
        at,
      );
    }
  }
  const offset = mapping.offsetAt(...index);
  if (!Number.isInteger(offset) || offset < 0 || offset >= mapping.requiredSpanSize) {
    throw new LayoutError(
      `Expected an offset from 0 to ${mapping.requiredSpanSize - 1} from the layout but received ${describe(offset)}`,
      lengths,
    );
  }
  return offset;
}

/** The strides of all axes, checked, because they may come from a user-written mapping. */
export function stridesOf(mapping: LayoutMapping): readonly number[] {
  const { lengths } = mapping.extents;
  if (!isStridedMapping(mapping)) {
    throw new LayoutError('Expected a layout with strides but this one has no stride() method', lengths);
  }
  return lengths.map((_, axis) => {
    const stride = mapping.stride(axis);
    if (typeof stride !== 'number') throw new ArgumentTypeError(`stride ${axis}`, 'an integer', stride);
    if (!Number.isSafeInteger(stride)) {
      throw new LayoutError(
        `Expected an integer of at most 2^53 - 1 for stride ${axis} but received ${stride} (stride is too large)`,
        lengths,
      );
    }
    return stride;
  });
}
