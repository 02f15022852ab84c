/** The devices of this machine. */

import { type Device, type DeviceInfo, parseDevice } from '../device.js';
import { ArgumentValueError } from '../errors.js';
import { request, wire } from '../native/wire.js';
import { readHex } from '../native/wire-bytes.js';
import { check, countDevices, cuda } from './driver.js';
import { begin, onDevice, run } from './requests.js';
import { releasePinned } from './upload.js';
import { DeviceDescription, MemoryInfo } from './wire-layout.js';

/** The properties of a device, from the driver. */
export interface CudaDevice {
  readonly device: Device;
  readonly name: string;
  /** The UUID is the same in every process of the machine, even if the number of the device differs. */
  readonly uuid: string;
  /** Bytes. */
  readonly totalMemory: number;
  readonly computeCapability: readonly [major: number, minor: number];
  readonly multiprocessors: number;
  /** `cuda_managed` memory works. */
  readonly hasManagedMemory: boolean;
  /** The CPU may access managed memory while the device uses it. */
  readonly hasConcurrentManagedAccess: boolean;
  /** Allocation is ordered with the work of a stream. */
  readonly hasMemoryPool: boolean;
}

const { f64, i32 } = wire;

/** The UUID of a device. */
export function uuidOf(id: number): string {
  return describeDevice(id).uuid;
}

/** All devices; empty without a driver or a device. */
export function devices(): CudaDevice[] {
  const found: CudaDevice[] = [];
  const count = countDevices();
  for (let id = 0; id < count; id++) found.push(describeDevice(id));
  return found;
}

function describeDevice(id: number): CudaDevice {
  const slot = begin(DeviceDescription.WORDS, id);
  const name = request(slot, () => cuda().describeDevice());
  const value = (index: number): number => i32[slot * 2 + index] as number;
  check(value(DeviceDescription.STATUS), `a description of 'cuda:${id}'`);
  return {
    device: `cuda:${id}`,
    name,
    uuid: readHex(slot + DeviceDescription.UUID, 16).replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-'),
    totalMemory: f64[slot + DeviceDescription.TOTAL_MEMORY] as number,
    computeCapability: [value(DeviceDescription.COMPUTE_MAJOR), value(DeviceDescription.COMPUTE_MINOR)],
    multiprocessors: value(DeviceDescription.MULTIPROCESSORS),
    hasManagedMemory: value(DeviceDescription.HAS_MANAGED_MEMORY) !== 0,
    hasConcurrentManagedAccess: value(DeviceDescription.HAS_CONCURRENT_MANAGED_ACCESS) !== 0,
    hasMemoryPool: value(DeviceDescription.HAS_MEMORY_POOL) !== 0,
  };
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
  const slot = begin(MemoryInfo.WORDS, id);
  run(slot, 'memoryInfo', `the memory of '${name}'`);
  return { free: f64[slot + MemoryInfo.FREE] as number, total: f64[slot + MemoryInfo.TOTAL] as number };
}

/** Waits for the device, and releases the memory that its pool, and uploads of files, keep for later. */
export function emptyCache(device: Device = 'cuda:0'): void {
  const { id, name } = parseCudaDevice(device);
  releasePinned();
  onDevice('trim', id, `'${name}' to take unused memory back`);
}

/** Blocks until all queued work on a device has finished. */
export function synchronize(device: Device = 'cuda:0'): void {
  const { id, name } = parseCudaDevice(device);
  onDevice('synchronizeDevice', id, `work on '${name}' to succeed`);
}
