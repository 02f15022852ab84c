/** Whether two tensors use the same bytes. */

import { isAddressable } from '../device.js';
import { getBackend } from '../storage/backend.js';
import type { Descriptor } from '../storage/descriptor.js';
import { BufferStorage, GpuStorage, isShared } from '../storage/storage.js';

/** True when the ranges of bytes, from the first element to the last, overlap. */
export function haveCommonBytes(a: Descriptor, b: Descriptor): boolean {
  if (a.size === 0 || b.size === 0) return false;
  const distance = distanceOf(a, b);
  if (distance === null) return false;
  const [first, end] = rangeOf(a);
  const [otherFirst, otherEnd] = rangeOf(b);
  return first < otherEnd + distance && otherFirst + distance < end;
}

/** The first byte of the elements and the byte after the last, from the start of the storage. */
function rangeOf({ bitOffset, layout }: Descriptor): [first: number, end: number] {
  const { low, high } = layout.reach;
  return [Math.floor((bitOffset + low) / 8), Math.ceil((bitOffset + high) / 8)];
}

/** Bytes from the start of one storage to the start of another; null for memory that has nothing in common. */
function distanceOf(
  { storage: a, device }: Descriptor,
  { storage: b, device: otherDevice }: Descriptor,
): number | null {
  if (a === b) return 0;
  if (a instanceof GpuStorage || b instanceof GpuStorage) {
    return a instanceof GpuStorage && b instanceof GpuStorage && a.gpuBuffer === b.gpuBuffer ? 0 : null;
  }
  if (a instanceof BufferStorage && b instanceof BufferStorage) {
    if (a.buffer() === b.buffer()) return b.start - a.start;
    // Two ArrayBuffers never share memory, but two SharedArrayBuffers can.
    if (!isShared(a.buffer()) || !isShared(b.buffer())) return null;
  }
  const backend = getBackend();
  if (backend === null) return null;
  const distance = Number(backend.addressOf(b) - backend.addressOf(a));
  // Two objects of a driver have nothing in common, however near to each other they are.
  return distance === 0 || (isAddressable(device) && isAddressable(otherDevice)) ? distance : null;
}
