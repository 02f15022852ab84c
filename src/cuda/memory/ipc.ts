/** CUDA IPC: shares device memory with other processes of this machine, and opens theirs. */

import type { StreamArgument } from '../../base/stream.js';
import { type DeviceInfo, parseDevice } from '../../device.js';
import {
  ArgumentTypeError,
  ArgumentValueError,
  BufferError,
  LayoutError,
  UnsupportedDeviceError,
} from '../../errors.js';
import { NativeStorage } from '../../native/memory/storage.js';
import type { Descriptor } from '../../storage/descriptor.js';
import type { OpenedMemory, SharedMemory } from '../../storage/device-backend.js';
import { releaseOnError, type Storage } from '../../storage/storage.js';
import { devices, parseCudaDevice, uuidOf } from '../devices.js';
import { check, cuda, take } from '../driver.js';
import { recordEvent } from '../streams/shared-event.js';
import { handleOn } from '../streams/stream-handle.js';
import { allocate } from './memory.js';

/** Allocates whole pages of 2 MiB outside of the pool, because the driver cannot share pool memory. */
export function allocateShareable(nbytes: number, device: DeviceInfo): Storage {
  const { id, name } = parseCudaDevice(device.name);
  const [handle] = take(cuda().allocateShareable(id, nbytes), `${nbytes} bytes on '${name}' that can be shared`);
  return new NativeStorage(handle, nbytes, false);
}

const copyFirst =
  'copy the tensor into memory that can be shared: ' +
  "Tensor.empty(x.shape, x.dtype, { device: 'cuda:0', shareable: true }).copyFrom(x)";

/** Describes the allocation around a tensor. The other process waits for work on the tensor that was queued here. */
export function shareRange(descriptor: Descriptor, sync: boolean): SharedMemory {
  const { storage, device, bitOffset } = descriptor;
  if (device.kind !== 'cuda') {
    throw new UnsupportedDeviceError(
      device.name,
      `CUDA shares no memory on '${device.name}' with other processes; ${copyFirst}`,
    );
  }
  if (descriptor.size === 0) {
    const process = '0'.repeat(16);
    return { device: uuidOf(device.id), process, memory: null, size: 0, bitOffset: 0, event: null };
  }
  const { ordinal, ...range } = describeRange(device, (storage as NativeStorage).handle, bitOffset);
  return { device: uuidOf(ordinal), ...range, event: sync ? recordEvent(descriptor) : null };
}

function describeRange(
  device: DeviceInfo,
  handle: number,
  bitOffset: number,
): Pick<SharedMemory, 'process' | 'memory' | 'size' | 'bitOffset'> & { ordinal: number } {
  const what = `a handle of memory on '${device.name}' for other processes`;
  const range = take(cuda().shareMemory(device.id, handle), what);
  if (range === undefined) {
    throw new BufferError(
      `This memory lies in a pool, or is of a kind that CUDA IPC does not share with other processes; ${copyFirst}`,
    );
  }
  const [ordinal, process, memory, size, offset] = range;
  return {
    ordinal,
    process: process.toString(16).padStart(16, '0'),
    memory,
    size,
    bitOffset: offset * 8 + bitOffset,
  };
}

/** Maps memory of another process until the last tensor over it is released and the work on it has finished. */
export function openRange(shared: SharedMemory, start: number, end: number, on: StreamArgument): OpenedMemory {
  const process = BigInt(`0x${checkText(shared.process, 'process', digits16, '16 hexadecimal digits')}`);
  const memory = checkHandle(shared.memory, 'memory');
  const event = checkHandle(shared.event, 'event');
  const device = findDevice(checkText(shared.device, 'device', uuid, 'the UUID of a device'));
  const stream = handleOn(device, on);
  if (memory === null) return { storage: allocate(0, device), device };
  const opened = take(
    cuda().openMemory(device.id, process, memory, start, end - start),
    'memory that its process still has, and that this process may open',
  );
  if (opened === undefined) {
    throw new BufferError(
      'This memory belongs to this process, and CUDA IPC opens memory of others only; use its tensor, or shareTensor(x) for a worker',
    );
  }
  const [handle] = opened;
  if (handle === undefined) {
    throw new LayoutError(
      `Expected elements inside the shared allocation but they reach from byte ${start} to ${end}, which is beyond what the driver maps`,
    );
  }
  const storage = new NativeStorage(handle, end - start, false);
  if (event !== null) followEvent(storage, device, stream, event);
  return { storage, device };
}

function followEvent(storage: NativeStorage, device: DeviceInfo, stream: bigint, event: string): void {
  const what = 'an event that its process still has, and that this process may wait for';
  releaseOnError(storage, () => check(cuda().followEvent(device.id, storage.handle, stream, event), what));
}

function findDevice(uuid: string): DeviceInfo {
  const all = devices();
  const found = all.find((device) => device.uuid === uuid);
  if (found !== undefined) return parseDevice(found.device);
  const known = all.length === 0 ? 'no device' : all.map((device) => `${device.device} is ${device.uuid}`).join(', ');
  throw new UnsupportedDeviceError(
    uuid,
    `The memory is on the device with UUID ${uuid}, which this process does not see (${known}); check CUDA_VISIBLE_DEVICES`,
  );
}

const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const digits16 = /^[0-9a-f]{16}$/;
const digits128 = /^[0-9a-f]{128}$/;

function checkText(value: unknown, name: string, pattern: RegExp, expected: string): string {
  if (typeof value !== 'string') throw new ArgumentTypeError(`description.${name}`, expected, value);
  if (!pattern.test(value)) throw new ArgumentValueError(`description.${name}`, expected, value);
  return value;
}

function checkHandle(value: unknown, name: string): string | null {
  return value === null ? null : checkText(value, name, digits128, 'a handle of 128 hexadecimal digits');
}
