/**
 * Writes nested arrays and short typed arrays into new memory: in native code where there is a backend.
 *
 * @module
 */

import { cpu } from '../device.js';
import type { DTypeInfo, TypedArray } from '../dtype.js';
import { allocateLike, filled, rowMajor } from '../storage/allocate.js';
import { getBackend } from '../storage/backend.js';
import type { Descriptor } from '../storage/descriptor.js';
import { type ElementCodec, elementCodec } from './element.js';
import { checkRow, type NestedSource } from './nested.js';

/** The values of nested arrays of this shape, in new row-major memory. */
export function writeNested(source: NestedSource, shape: readonly number[], dtype: DTypeInfo): Descriptor {
  const storage = getBackend()?.writeNested(source, shape, dtype);
  if (storage != null) return rowMajor(storage, dtype, cpu, shape, 0);
  return filled(allocateLike(shape, dtype, 0), (target) => {
    writeLevel(source, shape, 0, elementCodec(dtype), target.view(), 0, dtype.itemBits);
    target.storage.commit();
  });
}

/** Writes the values of a level from a bit on, and returns the next bit. */
function writeLevel(
  level: unknown,
  shape: readonly number[],
  axis: number,
  codec: ElementCodec,
  view: DataView,
  bit: number,
  step: number,
): number {
  if (axis === shape.length) {
    codec.write(view, bit, level);
    return bit + step;
  }
  const row = checkRow(level, shape, axis);
  let next = bit;
  for (let i = 0; i < (shape[axis] as number); i++) {
    next = writeLevel(row[i], shape, axis + 1, codec, view, next, step);
  }
  return next;
}

/** The elements of a short typed array in new memory; null for others. */
export function writeFew(array: TypedArray, dtype: DTypeInfo): Descriptor | null {
  const { length } = array;
  const storage = getBackend()?.writeFew(array, length, dtype);
  return storage == null ? null : rowMajor(storage, dtype, cpu, [length], 0);
}
