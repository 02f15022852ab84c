/** Memory for new tensors. */

import { cpu, type DeviceInfo } from '../device.js';
import { type DTypeInfo, sizeBytes } from '../dtype.js';
import { ArgumentValueError, UnsupportedDeviceError } from '../errors.js';
import { rowMajorStrides, sizeOf } from '../layout.js';
import { getBackend } from './backend.js';
import { Descriptor, Flag } from './descriptor.js';
import { type DeviceBackend, getDeviceBackend, loadAdvice, type SharingBackend } from './device-backend.js';
import { HeapStorage, releaseOnError, type Storage } from './storage.js';

// Most tensors have the shape of the tensor before them. Arrays never change, so both tensors share them.
let lastShape: readonly number[] = [];
let lastStrides: readonly number[] = [];

function rememberShape(shape: readonly number[]): void {
  let isSame = shape.length === lastShape.length;
  for (let i = 0; isSame && i < shape.length; i++) isSame = shape[i] === lastShape[i];
  if (isSame) return;
  lastShape = shape;
  lastStrides = rowMajorStrides(shape);
}

function backendOf(device: DeviceInfo): DeviceBackend {
  const backend = getDeviceBackend(device);
  if (backend !== null) return backend;
  throw new UnsupportedDeviceError(
    device.name,
    `Expected a device this process can allocate on but received '${device.name}'${loadAdvice(device)}`,
  );
}

/** Fills the last `count` bytes of a new storage with zero bits. Releases the storage if that fails. */
function clearStorage(storage: Storage, device: DeviceInfo, count: number): void {
  releaseOnError(storage, () => {
    if (device.isHostAccessible) {
      new Uint8Array(storage.buffer(), storage.start + storage.nbytes - count, count).fill(0);
      storage.commit();
    } else backendOf(device).clear(storage, device, count);
  });
}

/**
 * How many of the last bytes have bits that belong to no element: all bytes of padded elements, or the byte of the
 * last packed element. Elements are written without changing the bits around them, and consumers that read whole bytes
 * expect zeros there.
 */
function spareBytes(nbytes: number, dtype: DTypeInfo, size: number, isPadded: boolean): number {
  return nbytes * 8 === size * dtype.itemBits ? 0 : isPadded ? nbytes : 1;
}

/**
 * Row-major memory for a shape, not initialised unless `isZeroed`. Only a type below a byte can be padded; other flags pass
 * through.
 */
export function allocateLike(
  shape: readonly number[],
  dtype: DTypeInfo,
  flags: number,
  device = cpu,
  isZeroed = false,
): Descriptor {
  const size = sizeOf(shape);
  const isPadded = (flags & Flag.subBytePadded) !== 0;
  const nbytes = sizeBytes(dtype, size, isPadded);
  const kept = dtype.isSubByte ? flags : flags & ~Flag.subBytePadded;
  const cleared = isZeroed ? nbytes : spareBytes(nbytes, dtype, size, isPadded);
  if (device.kind === 'cpu') {
    // Without native code, a JavaScript buffer, whose bits are zero.
    const host = getBackend()?.allocate(nbytes, cleared) ?? new HeapStorage(new ArrayBuffer(nbytes));
    return rowMajor(host, dtype, device, shape, kept);
  }
  const storage = backendOf(device).allocate(nbytes, device);
  if (cleared > 0) clearStorage(storage, device, cleared);
  return rowMajor(storage, dtype, device, shape, kept);
}

/** Fills new memory, unless it has no elements. Releases it if `fill` throws. */
export function filled(target: Descriptor, fill: (target: Descriptor) => void): Descriptor {
  return releaseOnError(target, () => {
    if (target.size > 0) fill(target);
    return target;
  });
}

/** A descriptor over row-major memory. */
export function rowMajor(
  storage: Storage,
  dtype: DTypeInfo,
  device: DeviceInfo,
  shape: readonly number[],
  flags: number,
): Descriptor {
  rememberShape(shape);
  return new Descriptor(storage, dtype, device, lastShape, lastStrides, 0, flags);
}

/** The part of a backend that shares memory of a device with other processes. */
export function sharingOf(device: DeviceInfo): SharingBackend {
  const sharing = device.kind === 'cpu' ? (getBackend()?.sharing ?? null) : backendOf(device).sharing;
  if (sharing === null) throw cannotShare(device);
  return sharing;
}

/** Row-major memory that other processes can open, under a name unless it is null. */
export function allocateShareable(
  shape: readonly number[],
  dtype: DTypeInfo,
  flags: number,
  device: DeviceInfo,
  isZeroed = false,
  name: string | null = null,
): Descriptor {
  if (name !== null && device.kind !== 'cpu') {
    throw new ArgumentValueError('shareable', "true, or a name on 'cpu'", name);
  }
  const sharing = sharingOf(device);
  const kept = dtype.isSubByte ? flags : 0;
  const size = sizeOf(shape);
  const nbytes = sizeBytes(dtype, size, kept !== 0);
  const storage = sharing.allocate(nbytes, device, name);
  // The system clears new host memory.
  if (device.kind !== 'cpu') {
    clearStorage(storage, device, isZeroed ? nbytes : spareBytes(nbytes, dtype, size, kept !== 0));
  }
  return rowMajor(storage, dtype, device, shape, kept);
}

/** The error for memory that no other process can open. */
export function cannotShare({ name }: DeviceInfo): UnsupportedDeviceError {
  return new UnsupportedDeviceError(
    name,
    `Memory on '${name}' cannot be shared with another process; use a file, or a worker of this process: shareTensor(x). ` +
      "Memory on 'cuda', and on 'cpu' on Linux, can: Tensor.empty(shape, dtype, { device, shareable: true })",
  );
}
