/**
 * Writes into an existing tensor.
 *
 * @module
 */

import { LayoutError } from '../errors.js';
import { allocateLike } from '../storage/allocate.js';
import { getBackend } from '../storage/backend.js';
import { type Descriptor, Flag } from '../storage/descriptor.js';
import { BufferStorage, isShared, type Storage } from '../storage/storage.js';
import { broadcastLayout } from '../view-layout.js';
import { convertElements } from './convert.js';

/**
 * Broadcasts, converts and copies `source` into `target`. If they share memory, the result is as if all of `source`
 * were read first.
 */
export function copyInto(source: Descriptor, target: Descriptor): void {
  const { shape, strides } = target;
  // NumPy's arrays without elements have strides of zero; they repeat nothing.
  if (strides.some((stride, axis) => stride === 0 && (shape[axis] as number) > 1) && target.size > 0) {
    throw new LayoutError('Expected one place for each element but this tensor repeats an axis', shape, strides);
  }
  const from = source.derive(broadcastLayout(source.layout, shape));
  if (!mayOverlap(source.storage, target.storage)) {
    convertElements(from, target);
    return;
  }
  const copy = allocateLike(source.shape, source.dtype, source.flags & Flag.subBytePadded, source.device);
  try {
    convertElements(source, copy);
    convertElements(copy.derive(broadcastLayout(copy.layout, shape)), target);
  } finally {
    copy.storage.release();
  }
}

/** Two storages can share one memory: an import and its source, `Tensor.wrap(x.data)` and `x`, shared buffers. */
function mayOverlap(a: Storage, b: Storage): boolean {
  if (a === b) return true;
  const areBuffers = a instanceof BufferStorage && b instanceof BufferStorage;
  if (areBuffers && a.buffer() === b.buffer()) return true;
  // Two ArrayBuffers never share memory, but two SharedArrayBuffers can.
  if (areBuffers && !(isShared(a.buffer()) && isShared(b.buffer()))) return false;
  return getBackend()?.overlaps(a, b) ?? areBuffers;
}
