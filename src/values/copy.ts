/**
 * Copies of tensors.
 *
 * @module
 */

import { type DTypeInfo, dtypeFromCode, TypeCode } from '../dtype.js';
import { allocateLike } from '../storage/allocate.js';
import { Descriptor, Flag } from '../storage/descriptor.js';
import { convertElements } from './convert.js';

/** A row-major copy in new memory, flagged as a copy, by default on the same device. */
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

/** The elements as vectors of bytes, which need no alignment. Types with an alignment above one have whole bytes. */
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

/** A copy of misaligned elements, which are moved as bytes. */
export function copyMisaligned(source: Descriptor): Descriptor {
  return copyBytes(asBytes(source), source.dtype);
}

/** A copy as elements of `dtype` from a source that describes them as vectors of bytes. */
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
