/**
 * Memory that CUDA allocates, and the order of the work on it.
 *
 * @module
 */

import type { DeviceInfo } from '../device.js';
import { BufferError } from '../errors.js';
import { NativeStorage } from '../native/native-storage.js';
import { enter, leave, wire } from '../native/wire.js';
import { WireHeader } from '../native/wire-layout.js';
import type { Descriptor } from '../storage/descriptor.js';
import type { Storage } from '../storage/storage.js';
import { currentHandle, streamOfNumber } from './current.js';
import { check, cuda, isLoaded } from './driver.js';
import { onStorage } from './requests.js';
import { DeviceAllocation } from './wire-layout.js';

const { f64, i32, u32, u64 } = wire;

/** Pinned and managed memory belongs to no device. A device still has to allocate it, and that is device 0. */
export function ordinalOf(device: DeviceInfo): number {
  return device.kind === 'cuda' ? device.id : 0;
}

function handleOf(storage: Storage): number {
  if (storage instanceof NativeStorage) return storage.handle;
  throw new BufferError('Expected memory with an address on a device');
}

export function allocate(nbytes: number, device: DeviceInfo): Storage {
  const id = ordinalOf(device);
  const binding = cuda();
  const slot = enter(DeviceAllocation.WORDS);
  i32[slot * 2 + DeviceAllocation.DEVICE] = id;
  i32[slot * 2 + DeviceAllocation.DEVICE_TYPE] = device.type;
  f64[slot + DeviceAllocation.NBYTES] = nbytes;
  u64[slot + DeviceAllocation.STREAM] = currentHandle(id);
  u32[WireHeader.SLOT] = slot;
  binding.allocate();
  const status = i32[slot * 2 + DeviceAllocation.STATUS];
  const handle = u32[slot * 2 + DeviceAllocation.HANDLE] as number;
  leave(slot);
  if (status !== 0) check(status, `${nbytes} bytes on '${device.name}'`);
  return new NativeStorage(handle, nbytes, false);
}

export function clear(storage: Storage, device: DeviceInfo): void {
  const id = ordinalOf(device);
  check(onStorage('clear', handleOf(storage), id, currentHandle(id)), `memory on '${device.name}' to be cleared`);
}

export function handOver({ storage, device }: Descriptor, stream: bigint | null): void {
  const handle = streamOfNumber(stream);
  if (handle === null) return;
  const status = onStorage('handOver', handleOf(storage), ordinalOf(device), handle);
  if (status !== 0) check(status, `a stream of '${device.name}' to wait for the tensor`);
}

export function follow({ storage, device, size }: Descriptor, stream: bigint | null): void {
  const handle = streamOfNumber(stream);
  // Without a driver, no stream of this process could read the data too early.
  if (handle === null || size === 0 || !isLoaded()) return;
  const status = onStorage('follow', handleOf(storage), ordinalOf(device), handle);
  if (status !== 0) check(status, `a stream of '${device.name}' to wait for the tensor`);
}
