/** Copies of tensors: into new memory, and into an existing tensor. */

import { cpu, type DeviceInfo } from '../device.js';
import { type DTypeInfo, dtypeFromCode, isComplex, TypeCode } from '../dtype.js';
import { LayoutError } from '../errors.js';
import { allocateLike, filled, rowMajor } from '../storage/allocate.js';
import { getBackend } from '../storage/backend.js';
import { Descriptor, Flag } from '../storage/descriptor.js';
import { findLayout } from '../storage/layouts.js';
import type { Scaling } from '../storage/scaling.js';
import { BufferStorage, isShared, releaseAfter, type Storage } from '../storage/storage.js';
import { broadcastExtent } from '../view-layout.js';
import { convertElements, convertElementsAsync } from './convert.js';

/** A row-major copy in new memory, flagged as a copy, by default on the same device. */
export function copyDescriptor(source: Descriptor, device = source.device): Descriptor {
  return copyTo(source, source.dtype, device, Flag.isCopied);
}

/** The elements, converted to a dtype if one is given, row-major in new memory on the same device. */
export function convertedCopy(source: Descriptor, dtype = source.dtype): Descriptor {
  return copyInOneStep(source, dtype) ?? copyTo(source, dtype, source.device);
}

/** One native call allocates and converts elements of whole bytes; null for all others. */
function copyInOneStep(source: Descriptor, dtype: DTypeInfo): Descriptor | null {
  if (source.device !== cpu || !isPlain(source.dtype) || !isPlain(dtype) || source.size === 0) return null;
  const storage = getBackend()?.copy(source, dtype);
  return storage == null ? null : rowMajor(storage, dtype, cpu, source.shape, 0);
}

function isPlain(dtype: DTypeInfo): boolean {
  return dtype.lanes === 1 && !dtype.isSubByte && !isComplex(dtype);
}

/** The elements converted to a dtype, and scaled if that is asked for, row-major in new memory on a device. */
export function copyTo(
  source: Descriptor,
  dtype: DTypeInfo,
  device: DeviceInfo,
  flags = 0,
  scaling: Scaling | null = null,
): Descriptor {
  const copy = allocateLike(source.shape, dtype, (source.flags & Flag.subBytePadded) | flags, device);
  return filled(copy, () => convertElements(source, copy, true, scaling));
}

/** The elements as vectors of bytes, which need no alignment. Types with an alignment above one have whole bytes. */
function asBytes({ storage, dtype, device, shape, strides, bitOffset }: Descriptor): Descriptor {
  const bytes = dtypeFromCode(TypeCode.uint, 8, dtype.itemBits / 8);
  return new Descriptor(storage, findLayout(bytes, device, shape, strides, 0), bitOffset);
}

/** A copy of misaligned elements, which are moved as bytes. */
export function copyMisaligned(source: Descriptor): Descriptor {
  return copyBytes(asBytes(source), source.dtype);
}

/** A copy as elements of `dtype` from a source that describes them as vectors of bytes. */
export function copyBytes(bytes: Descriptor, dtype: DTypeInfo): Descriptor {
  const copy = allocateLike(bytes.shape, dtype, Flag.isCopied, bytes.device);
  return filled(copy, () => convertElements(bytes, asBytes(copy)));
}

/**
 * Broadcasts, converts and copies `source` into `target`. If they share memory, the result is as if all of `source`
 * were read first.
 */
export function copyInto(source: Descriptor, target: Descriptor): void {
  const { shape } = target;
  checkPlaces(target);
  const from = source.derive(broadcastExtent(source.extent, shape));
  if (!mayOverlap(source.storage, target.storage)) {
    convertElements(from, target);
    return;
  }
  const copy = copyTo(source, source.dtype, source.device);
  releaseAfter(copy, () => convertElements(copy.derive(broadcastExtent(copy.extent, shape)), target));
}

/**
 * As `copyInto`, without blocking: the way from a GPU into host memory that exists. Holds both storages meanwhile, so that
 * the caller may dispose the tensors.
 */
export async function copyIntoAsync(source: Descriptor, target: Descriptor): Promise<void> {
  checkPlaces(target);
  const from = source.derive(broadcastExtent(source.extent, target.shape));
  if (mayOverlap(source.storage, target.storage)) {
    copyInto(source, target);
    return;
  }
  source.storage.refs++;
  target.storage.refs++;
  try {
    await convertElementsAsync(from, target);
  } finally {
    source.storage.release();
    target.storage.release();
  }
}

/** Throws unless `out` has the shape of a result, with a place for each element. */
export function checkOut(out: Descriptor, shape: readonly number[]): void {
  if (out.shape.length !== shape.length || out.shape.some((length, axis) => length !== shape[axis])) {
    const received = `[${out.shape.join(', ')}]`;
    throw new LayoutError(`Expected shape [${shape.join(', ')}] for out but received ${received}`, shape);
  }
  checkPlaces(out);
}

/** Throws unless each element of a target has its own place. */
function checkPlaces({ shape, strides, size }: Descriptor): void {
  // NumPy's arrays without elements have strides of zero; they repeat nothing.
  if (size === 0 || !strides.some((stride, axis) => stride === 0 && (shape[axis] as number) > 1)) return;
  throw new LayoutError(
    'Expected a place of its own for each element but this tensor is broadcast, so several indices share one; write to a copy()',
    shape,
    strides,
  );
}

/** Two storages can share one memory: an import and its source, `Tensor.wrap(x.data)` and `x`, shared buffers. */
export function mayOverlap(a: Storage, b: Storage): boolean {
  if (a === b) return true;
  const areBuffers = a instanceof BufferStorage && b instanceof BufferStorage;
  if (areBuffers && a.buffer() === b.buffer()) return true;
  // Two ArrayBuffers never share memory, but two SharedArrayBuffers can.
  if (areBuffers && !(isShared(a.buffer()) && isShared(b.buffer()))) return false;
  return getBackend()?.overlaps(a, b) ?? areBuffers;
}
