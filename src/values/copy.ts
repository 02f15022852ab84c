/**
 * Copies of tensors.
 *
 * @module
 */

import { type DTypeInfo, dtypeFromCode, TypeCode } from '../dtype.js';
import { allocateLike } from '../storage/allocate.js';
import { Descriptor, Flag } from '../storage/descriptor.js';
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

/** The elements as vectors of bytes, which may lie anywhere. Types that are aligned to more than a byte have whole bytes. */
function asBytes({ storage, dtype, device, shape, strides, bitOffset }: Descriptor): Descriptor {
  return new Descriptor(
    storage,
    dtypeFromCode(TypeCode.uint, 8, dtype.itemBits / 8),
    device,
    shape,
    strides,
    bitOffset,
    0,
  );
}

/** The same for elements that do not lie where their dtype allows: they are moved as bytes. */
export function copyMisaligned(source: Descriptor): Descriptor {
  return copyBytes(asBytes(source), source.dtype);
}

/** Elements of a dtype from a source that has them as vectors of bytes. */
export function copyBytes(bytes: Descriptor, dtype: DTypeInfo): Descriptor {
  const copy = allocateLike(bytes.shape, dtype, Flag.isCopied, bytes.device);
  try {
    if (bytes.size > 0) convertElements(bytes, asBytes(copy));
    return copy;
  } catch (error) {
    copy.storage.release();
    throw error;
  }
}
