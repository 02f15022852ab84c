/** Memory that CUDA allocates, and the order of the work on it. */

import type { DeviceInfo } from '../device.js';
import { BufferError } from '../errors.js';
import { NativeStorage } from '../native/native-storage.js';
import { wire } from '../native/wire.js';
import type { Descriptor } from '../storage/descriptor.js';
import type { Storage } from '../storage/storage.js';
import { currentHandle, streamOfNumber } from './current.js';
import { check, driverError, isLoaded } from './driver.js';
import { begin, onStorage, send } from './requests.js';
import { DeviceAllocation, StorageRequest } from './wire-layout.js';

const { f64, i32, u32, u64 } = wire;

function handleOf(storage: Storage): number {
  if (storage instanceof NativeStorage) return storage.handle;
  throw new BufferError('Expected memory with an address on a device');
}

/** Pinned and managed memory belongs to no device. Its device id is 0, so device 0 allocates it. */
export function allocate(nbytes: number, device: DeviceInfo, isShareable = false): Storage {
  const { id } = device;
  const slot = begin(DeviceAllocation.WORDS, id);
  i32[slot * 2 + DeviceAllocation.DEVICE_TYPE] = device.type;
  u32[slot * 2 + DeviceAllocation.IS_SHAREABLE] = isShareable ? 1 : 0;
  f64[slot + DeviceAllocation.NBYTES] = nbytes;
  u64[slot + DeviceAllocation.STREAM] = currentHandle(id);
  const status = send(slot, 'allocate');
  if (status !== 0)
    throw driverError(status, `${nbytes} bytes on '${device.name}'${isShareable ? ' that can be shared' : ''}`);
  return new NativeStorage(u32[slot * 2 + DeviceAllocation.HANDLE] as number, nbytes, false);
}

export function clear(storage: Storage, { id, name }: DeviceInfo, count: number): void {
  const slot = begin(StorageRequest.WORDS, id);
  u32[slot * 2 + StorageRequest.HANDLE] = handleOf(storage);
  u64[slot + StorageRequest.STREAM] = currentHandle(id);
  f64[slot + StorageRequest.CLEARED] = count;
  check(send(slot, 'clear'), `memory on '${name}' to be cleared`);
}

export function handOver({ storage, device }: Descriptor, stream: bigint | null): void {
  const handle = streamOfNumber(stream);
  if (handle !== null) order('handOver', storage, device, handle);
}

export function follow({ storage, device, size }: Descriptor, stream: bigint | null): void {
  const handle = streamOfNumber(stream);
  // Without a driver, no stream of this process could read the data too early.
  if (handle !== null && size > 0 && isLoaded()) order('follow', storage, device, handle);
}

function order(name: 'handOver' | 'follow', storage: Storage, device: DeviceInfo, stream: bigint): void {
  const status = onStorage(name, handleOf(storage), device.id, stream);
  if (status !== 0) throw driverError(status, `a stream of '${device.name}' to wait for the tensor`);
}
