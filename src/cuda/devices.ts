/** The devices of this machine. */

import { type Device, type DeviceInfo, parseDevice } from '../device.js';
import { ArgumentValueError } from '../errors.js';
import { releasePinned } from './copies/upload.js';
import { check, countDevices, cuda, isLoaded, take } from './driver.js';

/** The properties of a device, from the driver. */
export interface CudaDevice {
  /** Its name here, such as `cuda:0`. */
  readonly device: Device;
  /** Its name, such as `NVIDIA H200`. */
  readonly name: string;
  /** The UUID is the same in every process of the machine, even if the number of the device differs. */
  readonly uuid: string;
  /** Bytes. */
  readonly totalMemory: number;
  /** Major and minor. */
  readonly computeCapability: readonly [major: number, minor: number];
  /** The number of its multiprocessors. */
  readonly multiprocessors: number;
  /** `cuda_managed` memory works. */
  readonly hasManagedMemory: boolean;
  /** The CPU may access managed memory while the device uses it. */
  readonly hasConcurrentManagedAccess: boolean;
  /** Allocation is ordered with the work of a stream. */
  readonly hasMemoryPool: boolean;
}

/** The UUID of a device. */
export function uuidOf(id: number): string {
  return describeDevice(id).uuid;
}

/**
 * Lists all devices.
 *
 * @returns Their properties, in the driver's order; an empty array without a driver.
 * @throws CudaError if the driver fails.
 * @example
 * ```ts
 * import { devices } from 'dlpack/cuda';
 * console.log(devices().map(({ device }) => device)); // ['cuda:0']
 * ```
 */
export function devices(): CudaDevice[] {
  const found: CudaDevice[] = [];
  const count = countDevices();
  for (let id = 0; id < count; id++) found.push(describeDevice(id));
  return found;
}

function describeDevice(id: number): CudaDevice {
  const [name, uuid, totalMemory, major, minor, multiprocessors, managed, concurrent, pool] = take(
    cuda().describeDevice(id),
    `a description of 'cuda:${id}'`,
  );
  return {
    device: `cuda:${id}`,
    name,
    uuid: uuid.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-'),
    totalMemory,
    computeCapability: [major, minor],
    multiprocessors,
    hasManagedMemory: managed,
    hasConcurrentManagedAccess: concurrent,
    hasMemoryPool: pool,
  };
}

/** A device of kind `'cuda'`. */
export function parseCudaDevice(device: Device): DeviceInfo {
  const info = parseDevice(device);
  if (info.kind !== 'cuda') throw new ArgumentValueError('device', 'a device such as "cuda:0"', info.name);
  return info;
}

/**
 * Asks the driver for the free and total bytes of a device.
 *
 * @param device - `'cuda:0'` when absent.
 * @returns The bytes that are free, and all.
 * @throws ArgumentValueError for a device of another kind, LoadError without a driver, and CudaError if there is no
 *   such device.
 * @example
 * ```ts
 * import { memoryInfo } from 'dlpack/cuda';
 * const { free, total } = memoryInfo('cuda:0');
 * console.log(free <= total); // true
 * ```
 */
export function memoryInfo(device: Device = 'cuda:0'): {
  /** Bytes that can be allocated now. */
  free: number;
  /** Bytes that the device has. */
  total: number;
} {
  const { id, name } = parseCudaDevice(device);
  const [free, total] = take(cuda().memoryInfo(id), `the memory of '${name}'`);
  return { free, total };
}

/** Waits for a device, or for all that this process uses, and releases what pools, and uploads of files, keep for later. */
export function emptyCache(device: DeviceInfo | null): void {
  if (!isLoaded() || (device !== null && device.kind !== 'cuda')) return;
  releasePinned();
  const ids = device === null ? Array.from({ length: countDevices() }, (_, id) => id).filter(isUsed) : [device.id];
  for (const id of ids) check(cuda().trim(id), `'cuda:${id}' to take unused memory back`);
}

/** True when this process has a context of a device. A new one takes hundreds of megabytes. */
const isUsed = (id: number): boolean => cuda().isUsed(id);

/**
 * Blocks until all queued work on a device has finished.
 *
 * @param device - `'cuda:0'` when absent.
 * @throws ArgumentValueError for a device of another kind, CudaError if work on the device failed, and LoadError
 *   without a driver.
 * @example
 * ```ts
 * import { Tensor } from 'dlpack';
 * import { synchronize } from 'dlpack/cuda';
 * Tensor.zeros([2, 3], 'float32', { device: 'cuda:0' });
 * synchronize('cuda:0');
 * ```
 */
export function synchronize(device: Device = 'cuda:0'): void {
  const { id, name } = parseCudaDevice(device);
  check(cuda().synchronizeDevice(id), `work on '${name}' to succeed`);
}
