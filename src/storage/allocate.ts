/** Memory for new tensors. */

import { checkOptions, type OptionNames } from '../base/options.js';
import { cpu, type DeviceArgument, type DeviceInfo, parseDevice } from '../device.js';
import { type DType, type DTypeInfo, parseDType } from '../dtype.js';
import { ArgumentTypeError, ArgumentValueError, OutOfMemoryError, UnsupportedDeviceError } from '../errors.js';
import { checkShape } from '../layout.js';
import { getBackend } from './backend.js';
import { Descriptor, Flag } from './descriptor.js';
import { type DeviceBackend, loadAdvice, loadDeviceBackend, type SharingBackend } from './device-backend.js';
import { findLayout, type Layout } from './layouts.js';
import { HeapStorage, releaseOnError, type Storage } from './storage.js';

/** Where new memory is, and who can open it. */
export interface EmptyOptions {
  /** Where the memory is; `'cpu'` when absent. */
  device?: DeviceArgument;
  /** Each element narrower than a byte gets its own byte, as in NumPy, instead of being packed. The default is false. */
  padded?: boolean;
  /**
   * Allocates memory for `describeTensor(x)` of `dlpack/shared`: on `'cuda'`, and on Linux on `'cpu'`. A string is the
   * name under which other processes find host memory, such as Python's `SharedMemory`. The default is false.
   */
  shareable?: boolean | string;
}

const emptyNames: OptionNames<EmptyOptions> = { device: true, padded: 'boolean', shareable: true };

function backendOf(device: DeviceInfo): DeviceBackend {
  const backend = loadDeviceBackend(device);
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
function spareBytes({ nbytes, dtype, size, isPadded }: Layout): number {
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
  const layout = findLayout(dtype, device, shape, null, dtype.isSubByte ? flags : flags & ~Flag.subBytePadded);
  const { nbytes } = layout;
  const cleared = isZeroed ? nbytes : spareBytes(layout);
  if (device.kind === 'cpu') {
    const host = getBackend()?.allocate(nbytes, cleared) ?? onHeap(nbytes);
    return new Descriptor(host, layout, 0);
  }
  const storage = backendOf(device).allocate(nbytes, device);
  if (cleared > 0) clearStorage(storage, device, cleared);
  return new Descriptor(storage, layout, 0);
}

/** Without native code, a JavaScript buffer, whose bits are zero. */
function onHeap(nbytes: number): Storage {
  try {
    return new HeapStorage(new ArrayBuffer(nbytes));
  } catch (cause) {
    throw new OutOfMemoryError(`could not allocate ${nbytes} bytes`, nbytes, { cause });
  }
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
  return new Descriptor(storage, findLayout(dtype, device, shape, null, flags), 0);
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
  const layout = findLayout(dtype, device, shape, null, dtype.isSubByte ? flags : 0);
  const storage = sharing.allocate(layout.nbytes, device, name);
  // The system clears new host memory.
  if (device.kind !== 'cpu') {
    clearStorage(storage, device, isZeroed ? layout.nbytes : spareBytes(layout));
  }
  return new Descriptor(storage, layout, 0);
}

/** The error for memory that no other process can open. */
export function cannotShare({ name }: DeviceInfo): UnsupportedDeviceError {
  return new UnsupportedDeviceError(
    name,
    `Memory on '${name}' cannot be shared with another process; use a file, or a worker of this process: shareTensor(x). ` +
      "Memory on 'cuda', and on 'cpu' on Linux, can: Tensor.empty(shape, dtype, { device, shareable: true })",
  );
}

/** Memory for `Tensor.empty` and the functions like it, with everything checked. */
export function allocateNew(
  given: readonly number[],
  type: DType,
  options: EmptyOptions | undefined,
  isZeroed: boolean,
): Descriptor {
  const shape = checkShape(given);
  const dtype = parseDType(type);
  if (options === undefined) return allocateLike(shape, dtype, 0, cpu, isZeroed);
  checkOptions(options, emptyNames, "{ device: 'cuda:0' }");
  const { shareable: name } = options;
  const flags = options.padded === true ? Flag.subBytePadded : 0;
  const device = parseDevice(options.device ?? 'cpu');
  // An empty name is a mistake, and does not mean private memory.
  if (name === undefined || name === false) return allocateLike(shape, dtype, flags, device, isZeroed);
  if (name !== true && typeof name !== 'string') throw new ArgumentTypeError('shareable', 'a boolean or a name', name);
  return allocateShareable(shape, dtype, flags, device, isZeroed, name === true ? null : name);
}
