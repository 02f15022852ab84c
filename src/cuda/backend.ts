/**
 * What the core asks of CUDA: memory, copies, and the order of streams.
 *
 * @module
 */

import type { DeviceInfo } from '../device.js';
import { BufferError } from '../errors.js';
import { setPointerDriver } from '../mdspan/driver.js';
import { NativeStorage } from '../native/native-storage.js';
import type { Descriptor } from '../storage/descriptor.js';
import { type DeviceBackend, setDeviceBackend } from '../storage/device-backend.js';
import type { Storage } from '../storage/storage.js';
import { copyElements, copyElementsAsync } from './copy.js';
import { currentHandle, streamOfNumber } from './current.js';
import { check, countDevices, cuda, isLoaded } from './driver.js';
import { DEVICE, f64, HANDLE, i32, KIND, NBYTES, STREAM, u32, u64 } from './frame.js';
import { pointerAttributes } from './pointer.js';

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

export const cudaBackend: DeviceBackend = {
  allocate(nbytes: number, device: DeviceInfo): Storage {
    const id = ordinalOf(device);
    const binding = cuda();
    i32[KIND] = device.type;
    i32[DEVICE] = id;
    f64[NBYTES] = nbytes;
    u64[STREAM] = currentHandle(id);
    binding.allocate();
    check(`${nbytes} bytes on '${device.name}'`);
    return new NativeStorage(u32[HANDLE] as number, nbytes, false).recorded();
  },
  copy: copyElements,
  copyAsync: copyElementsAsync,
  clear(storage: Storage, device: DeviceInfo): void {
    const binding = cuda();
    select(storage, ordinalOf(device), currentHandle(ordinalOf(device)));
    binding.clear();
    check(`memory on '${device.name}' to be cleared`);
  },
  handOver({ storage, device }: Descriptor, stream: bigint | null): void {
    const handle = streamOfNumber(stream);
    if (handle === null) return;
    const binding = cuda();
    select(storage, ordinalOf(device), handle);
    binding.handOver();
    check(`a stream of '${device.name}' to wait for the tensor`);
  },
  follow({ storage, device, size }: Descriptor, stream: bigint | null): void {
    const handle = streamOfNumber(stream);
    // Without a driver there are no streams of ours that could be too early.
    if (handle === null || size === 0 || !isLoaded()) return;
    const binding = cuda();
    select(storage, ordinalOf(device), handle);
    binding.follow();
    check(`a stream of '${device.name}' to wait for the tensor`);
  },
  currentStream(device: DeviceInfo): bigint {
    return currentHandle(ordinalOf(device));
  },
};

/** Registers with the core. Nothing is loaded before the first use. */
export function register(): void {
  setDeviceBackend(['cuda', 'cuda_host', 'cuda_managed'], cudaBackend);
  setPointerDriver({
    deviceOrdinal: (address) => (countDevices() === 0 ? null : (pointerAttributes(address)?.deviceId ?? null)),
  });
}
