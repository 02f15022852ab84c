/**
 * Memory for new tensors.
 *
 * @module
 */

import { allocateHost, getBackend } from './backend.js';
import { Descriptor, Flag } from './descriptor.js';
import { cpu } from './device.js';
import { type DTypeInfo, sizeBytes } from './dtype.js';
import { UnsupportedDeviceError } from './errors.js';
import { rowMajorStrides, sizeOf } from './layout.js';

// Most tensors have the shape of the one before, and arrays never change once made: those two are shared.
let lastShape: readonly number[] = [];
let lastStrides: readonly number[] = [];

function rememberShape(shape: readonly number[]): void {
  let isSame = shape.length === lastShape.length;
  for (let i = 0; isSame && i < shape.length; i++) isSame = shape[i] === lastShape[i];
  if (isSame) return;
  lastShape = shape;
  lastStrides = rowMajorStrides(shape);
}

/** Row-major memory for a shape. Only a type below a byte can be padded; other flags pass through. */
export function allocateLike(shape: readonly number[], dtype: DTypeInfo, flags: number, device = cpu): Descriptor {
  const nbytes = sizeBytes(dtype, sizeOf(shape), (flags & Flag.subBytePadded) !== 0);
  const storage = device.kind === 'cpu' ? allocateHost(nbytes, device) : getBackend()?.allocate(nbytes, device);
  if (storage === null || storage === undefined) {
    throw new UnsupportedDeviceError(
      device.name,
      `Expected a device this process can allocate on but received '${device.name}'`,
    );
  }
  const kept = dtype.isSubByte ? flags : flags & ~Flag.subBytePadded;
  if ((kept & Flag.subBytePadded) !== 0 && nbytes > 0) {
    // Elements are written without touching the bits around them, and padding is zero for those who read whole bytes.
    new Uint8Array(storage.buffer(), storage.start, nbytes).fill(0);
    storage.commit();
  }
  rememberShape(shape);
  return new Descriptor(storage, dtype, device, lastShape, lastStrides, 0, kept);
}
