/**
 * Copies of tensors.
 *
 * @module
 */

import { allocateLike } from '../storage/allocate.js';
import { type Descriptor, Flag } from '../storage/descriptor.js';
import { convertElements } from './convert.js';

/** A packed copy in memory of its own, flagged as one; where the source is, unless told otherwise. */
export function copyDescriptor(source: Descriptor, device = source.device): Descriptor {
  const copy = allocateLike(source.shape, source.dtype, (source.flags & Flag.subBytePadded) | Flag.isCopied, device);
  try {
    convertElements(source, copy);
    return copy;
  } catch (error) {
    copy.storage.release();
    throw error;
  }
}
