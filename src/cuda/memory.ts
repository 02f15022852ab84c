/**
 * Memory that CUDA allocates, and the order of the work on it.
 *
 * @module
 */

import type { DeviceInfo } from '../device.js';
import { BufferError } from '../errors.js';
import { NativeStorage } from '../native/native-storage.js';
import type { Descriptor } from '../storage/descriptor.js';
import type { Storage } from '../storage/storage.js';
import { currentHandle, streamOfNumber } from './current.js';
import { check, cuda, isLoaded } from './driver.js';
import { DEVICE, f64, HANDLE, i32, KIND, NBYTES, STREAM, u32, u64 } from './frame.js';

/** Pinned and managed memory is made by a device, and belongs to none: its number is 0. */
export function ordinalOf(device: DeviceInfo): number {
  return device.kind === 'cuda' ? device.id : 0;
}

function select(storage: Storage, id: number, stream: bigint): void {
  if (!(storage instanceof NativeStorage)) throw new BufferError('Expected memory with an address on a device');
  u32[HANDLE] = storage.handle;
  i32[DEVICE] = id;
  u64[STREAM] = stream;
}

export function allocate(nbytes: number, device: DeviceInfo): Storage {
  const id = ordinalOf(device);
  const binding = cuda();
  i32[KIND] = device.type;
  i32[DEVICE] = id;
  f64[NBYTES] = nbytes;
  u64[STREAM] = currentHandle(id);
  binding.allocate();
  check(`${nbytes} bytes on '${device.name}'`);
  return new NativeStorage(u32[HANDLE] as number, nbytes, false);
}

export function clear(storage: Storage, device: DeviceInfo): void {
  const binding = cuda();
  select(storage, ordinalOf(device), currentHandle(ordinalOf(device)));
  binding.clear();
  check(`memory on '${device.name}' to be cleared`);
}

export function handOver({ storage, device }: Descriptor, stream: bigint | null): void {
  const handle = streamOfNumber(stream);
  if (handle === null) return;
  const binding = cuda();
  select(storage, ordinalOf(device), handle);
  binding.handOver();
  check(`a stream of '${device.name}' to wait for the tensor`);
}

export function follow({ storage, device, size }: Descriptor, stream: bigint | null): void {
  const handle = streamOfNumber(stream);
  // Without a driver there are no streams of ours that could be too early.
  if (handle === null || size === 0 || !isLoaded()) return;
  const binding = cuda();
  select(storage, ordinalOf(device), handle);
  binding.follow();
  check(`a stream of '${device.name}' to wait for the tensor`);
}
