/** Memory that CUDA allocates, and the order of the work on it. */

import type { DeviceInfo } from '../../device.js';
import { BufferError } from '../../errors.js';
import { NativeStorage } from '../../native/memory/storage.js';
import { enter, leave } from '../../native/wire/wire.js';
import { WireHeader } from '../../native/wire/wire-layout.js';
import type { Descriptor } from '../../storage/descriptor.js';
import type { Storage } from '../../storage/storage.js';
import { check, cuda, driverError, isLoaded } from '../driver.js';
import { currentHandle, LEGACY_STREAM, streamOfNumber } from '../streams/current.js';
import { onStream } from '../streams/requests.js';
import { DeviceAllocation } from '../wire-layout.js';

function deviceHandle(storage: Storage): number {
  if (storage instanceof NativeStorage) return storage.handle;
  throw new BufferError('Expected memory with an address on a device');
}

/** Pinned and managed memory belongs to no device. Its device id is 0, so device 0 allocates it. */
export function allocate(nbytes: number, device: DeviceInfo): Storage {
  const { id } = device;
  const binding = cuda(); // throws without a driver, so before the slot is taken
  const slot = enter(DeviceAllocation.WORDS);
  DeviceAllocation.setDevice(slot, id);
  DeviceAllocation.setDeviceType(slot, device.type);
  DeviceAllocation.setNbytes(slot, nbytes);
  DeviceAllocation.setStream(slot, currentHandle(id));
  WireHeader.setSlot(slot);
  binding.allocate();
  leave(slot);
  const status = DeviceAllocation.status(slot);
  if (status !== 0) throw driverError(status, `${nbytes} bytes on '${device.name}'`);
  return new NativeStorage(DeviceAllocation.handle(slot), nbytes, false);
}

export function clear(storage: Storage, { id, name }: DeviceInfo, count: number): void {
  check(cuda().clear(id, deviceHandle(storage), currentHandle(id), count), `memory on '${name}' to be cleared`);
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

/** Pinned and managed memory. Without a driver, nothing but the CPU uses it. */
export function settle(storage: Storage, device: DeviceInfo): void {
  if (!(storage instanceof NativeStorage) || !isLoaded()) return;
  order('handOver', storage, device, LEGACY_STREAM);
  onStream('synchronizeStream', device, LEGACY_STREAM);
}

function order(name: 'handOver' | 'follow', storage: Storage, device: DeviceInfo, stream: bigint): void {
  const status = cuda()[name](device.id, deviceHandle(storage), stream);
  if (status !== 0) throw driverError(status, `a stream of '${device.name}' to wait for the tensor`);
}
