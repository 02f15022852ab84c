/**
 * The devices of this machine.
 *
 * @module
 */

import { type Device, type DeviceInfo, parseDevice } from '../device.js';
import { ArgumentValueError } from '../errors.js';
import { check, countDevices, cuda } from './driver.js';
import { DEVICE, FLAGS, f64, i32, NBYTES, NUMBER, u32, u64, VALUES } from './frame.js';
import { readValues } from './hex.js';

/** What the driver says of a device. */
export interface CudaDevice {
  readonly device: Device;
  readonly name: string;
  /** The same in every process of the machine, whatever its number there. */
  readonly uuid: string;
  /** Bytes. */
  readonly totalMemory: number;
  readonly computeCapability: readonly [major: number, minor: number];
  readonly multiprocessors: number;
  /** `cuda_managed` memory works. */
  readonly hasManagedMemory: boolean;
  /** The processor may touch managed memory while the device does. */
  readonly hasConcurrentManagedAccess: boolean;
  /** Allocation is ordered with the work of a stream. */
  readonly hasMemoryPool: boolean;
}

/** The UUID in the last two values of the frame. */
function formatUuid(): string {
  return readValues(48, 16).replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
}

/** The UUID of a device. */
export function uuidOf(id: number): string {
  i32[DEVICE] = id;
  cuda().describeDevice();
  check(`a description of 'cuda:${id}'`);
  return formatUuid();
}

/** All devices; none where there is no driver, or no device. */
export function devices(): CudaDevice[] {
  const found: CudaDevice[] = [];
  const count = countDevices();
  for (let id = 0; id < count; id++) {
    i32[DEVICE] = id;
    const name = cuda().describeDevice();
    check(`a description of 'cuda:${id}'`);
    const value = (index: number): number => Number(u64[VALUES + index]);
    found.push({
      device: `cuda:${id}`,
      name,
      uuid: formatUuid(),
      totalMemory: f64[NBYTES] as number,
      computeCapability: [value(0), value(1)],
      multiprocessors: value(2),
      hasManagedMemory: value(3) !== 0,
      hasConcurrentManagedAccess: value(4) !== 0,
      hasMemoryPool: value(5) !== 0,
    });
  }
  return found;
}

/** A device of kind `'cuda'`. */
export function parseCudaDevice(device: Device): DeviceInfo {
  const info = parseDevice(device);
  if (info.kind !== 'cuda') throw new ArgumentValueError('device', 'a device such as "cuda:0"', info.name);
  return info;
}

/** Free and total bytes of a device. */
export function memoryInfo(device: Device = 'cuda:0'): { free: number; total: number } {
  const { id, name } = parseCudaDevice(device);
  i32[DEVICE] = id;
  cuda().memoryInfo();
  check(`the memory of '${name}'`);
  return { free: f64[NBYTES] as number, total: f64[NUMBER] as number };
}

/** Waits for the device, and gives it back what the pool keeps for the next allocations. */
export function emptyCache(device: Device = 'cuda:0'): void {
  const { id, name } = parseCudaDevice(device);
  i32[DEVICE] = id;
  cuda().trim();
  check(`'${name}' to take unused memory back`);
}

/** Blocks until all that is queued on a device is done. */
export function synchronize(device: Device = 'cuda:0'): void {
  const { id, name } = parseCudaDevice(device);
  i32[DEVICE] = id;
  u32[FLAGS] = 2;
  cuda().synchronize();
  check(`work on '${name}' to succeed`);
}
