/** CUDA IPC: shares device memory with other processes of this machine, and opens theirs. */

import type { StreamArgument } from '../base/stream.js';
import { type DeviceInfo, parseDevice } from '../device.js';
import { ArgumentTypeError, ArgumentValueError, BufferError, LayoutError, UnsupportedDeviceError } from '../errors.js';
import { NativeStorage } from '../native/native-storage.js';
import { wire } from '../native/wire.js';
import { readHex, writeHex } from '../native/wire-bytes.js';
import type { Descriptor } from '../storage/descriptor.js';
import type { OpenedMemory, SharedMemory } from '../storage/device-backend.js';
import { releaseOnError, type Storage } from '../storage/storage.js';
import { devices, parseCudaDevice, uuidOf } from './devices.js';
import { allocate } from './memory.js';
import { begin, run } from './requests.js';
import { recordEvent } from './shared-event.js';
import { handleOn } from './stream-handle.js';
import { FollowEventRequest, OpenRequest, ShareRequest } from './wire-layout.js';

const { f64, i32, u32, u64 } = wire;

/** Allocates whole pages of 2 MiB outside of the pool, because the driver cannot share pool memory. */
export function allocateShareable(nbytes: number, device: DeviceInfo): Storage {
  return allocate(nbytes, parseCudaDevice(device.name), true);
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
  const slot = begin(ShareRequest.WORDS, device.id);
  u32[slot * 2 + ShareRequest.HANDLE] = handle;
  run(slot, 'shareMemory', `a handle of memory on '${device.name}' for other processes`);
  if (u32[slot * 2 + ShareRequest.IS_SHAREABLE] !== 1) {
    throw new BufferError(
      `This memory lies in a pool, or is of a kind that CUDA IPC does not share with other processes; ${copyFirst}`,
    );
  }
  return {
    ordinal: i32[slot * 2 + ShareRequest.ORDINAL] as number,
    process: (u64[slot + ShareRequest.PROCESS] as bigint).toString(16).padStart(16, '0'),
    memory: readHex(slot + ShareRequest.IPC_HANDLE, 64),
    size: f64[slot + ShareRequest.SIZE] as number,
    bitOffset: (f64[slot + ShareRequest.OFFSET] as number) * 8 + bitOffset,
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
  const slot = begin(OpenRequest.WORDS, device.id);
  u64[slot + OpenRequest.PROCESS] = process;
  f64[slot + OpenRequest.OFFSET] = start;
  f64[slot + OpenRequest.NBYTES] = end - start;
  writeHex(slot + OpenRequest.IPC_HANDLE, memory);
  run(slot, 'openMemory', 'memory that its process still has, and that this process may open');
  const outcome = u32[slot * 2 + OpenRequest.OUTCOME];
  if (outcome === OWN_MEMORY) {
    throw new BufferError(
      'This memory belongs to this process, and CUDA IPC opens memory of others only; use its tensor, or shareTensor(x) for a worker',
    );
  }
  if (outcome !== OPENED) {
    throw new LayoutError(
      `Expected elements inside the shared allocation but they reach from byte ${start} to ${end}, which is beyond what the driver maps`,
    );
  }
  const storage = new NativeStorage(u32[slot * 2 + OpenRequest.HANDLE] as number, end - start, false);
  if (event !== null) followEvent(storage, device, stream, event);
  return { storage, device };
}

const OPENED = 1;
const OWN_MEMORY = 2;

function followEvent(storage: NativeStorage, device: DeviceInfo, stream: bigint, event: string): void {
  const slot = begin(FollowEventRequest.WORDS, device.id);
  u32[slot * 2 + FollowEventRequest.HANDLE] = storage.handle;
  u64[slot + FollowEventRequest.STREAM] = stream;
  writeHex(slot + FollowEventRequest.IPC_HANDLE, event);
  const what = 'an event that its process still has, and that this process may wait for';
  releaseOnError(storage, () => run(slot, 'followEvent', what));
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
