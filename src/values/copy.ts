/**
 * Copies of tensors.
 *
 * @module
 */

import { cpu, type DeviceInfo } from '../device.js';
import { type DTypeInfo, dtypeFromCode, TypeCode } from '../dtype.js';
import { allocateLike, rowMajor } from '../storage/allocate.js';
import { getBackend } from '../storage/backend.js';
import { Descriptor, Flag } from '../storage/descriptor.js';
import { convertElements } from './convert.js';

/** A row-major copy in new memory, flagged as a copy, by default on the same device. */
export function copyDescriptor(source: Descriptor, device = source.device): Descriptor {
  return copyTo(source, source.dtype, device, Flag.isCopied);
}

/** The elements converted to a dtype, row-major in new memory on the same device. */
export function convertedCopy(source: Descriptor, dtype: DTypeInfo): Descriptor {
  return copyInOneStep(source, dtype) ?? copyTo(source, dtype, source.device);
}

/** One native call allocates and converts elements of whole bytes; null for all others. */
function copyInOneStep(source: Descriptor, dtype: DTypeInfo): Descriptor | null {
  if (source.device !== cpu || !isPlain(source.dtype) || !isPlain(dtype) || source.size === 0) return null;
  const storage = getBackend()?.copy(source, dtype);
  return storage == null ? null : rowMajor(storage, dtype, cpu, source.shape, 0);
}

function isPlain({ lanes, isSubByte, code }: DTypeInfo): boolean {
  return lanes === 1 && !isSubByte && code !== TypeCode.complex;
}

/** The elements converted to a dtype, row-major in new memory on a device. */
export function copyTo(source: Descriptor, dtype: DTypeInfo, device: DeviceInfo, flags = 0): Descriptor {
  const copy = allocateLike(source.shape, dtype, (source.flags & Flag.subBytePadded) | flags, device);
  try {
    if (copy.size > 0) convertElements(source, copy);
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
