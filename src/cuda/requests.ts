/**
 * Requests on a device, a stream, an event or a storage that several modules make.
 *
 * @module
 */

import { enter, leave, wire } from '../native/wire.js';
import { WireHeader } from '../native/wire-layout.js';
import type { CudaBinding } from './binding.js';
import { check, cuda } from './driver.js';
import {
  CaptureRequest,
  DeviceRequest,
  EventStateRequest,
  MarkRequest,
  StorageRequest,
  StreamStateRequest,
} from './wire-layout.js';

const { i32, u32, u64 } = wire;

/** Native functions that take a message with a status and a device at its start, as {@link DeviceRequest} has them. */
type DeviceFunction = {
  [Name in keyof CudaBinding]: CudaBinding[Name] extends () => void ? Name : never;
}[keyof CudaBinding];

/** Takes a slot for a message that begins like a {@link DeviceRequest}. The caller writes its other fields. */
export function begin(words: number, device: number): number {
  cuda(); // throws without a driver, so before the slot is taken
  const slot = enter(words);
  i32[slot * 2 + DeviceRequest.DEVICE] = device;
  return slot;
}

/** Makes the request of a slot, which stays taken, so that the caller can read the results. Returns the CUresult. */
export function send(slot: number, name: DeviceFunction): number {
  const binding = cuda();
  u32[WireHeader.SLOT] = slot;
  binding[name]();
  return i32[slot * 2 + DeviceRequest.STATUS] as number;
}

/** As {@link send} for a request that has no other result. */
export function finish(slot: number, name: DeviceFunction): number {
  const status = send(slot, name);
  leave(slot);
  return status;
}

export function onDevice(name: 'trim' | 'synchronizeDevice' | 'queryDevice', device: number): number {
  return finish(begin(DeviceRequest.WORDS, device), name);
}

export function onStream(name: 'synchronizeStream' | 'queryStream', device: number, stream: bigint): number {
  const slot = begin(StreamStateRequest.WORDS, device);
  u64[slot + StreamStateRequest.STREAM] = stream;
  return finish(slot, name);
}

export function onEvent(name: 'synchronizeEvent' | 'queryEvent', device: number, event: bigint): number {
  const slot = begin(EventStateRequest.WORDS, device);
  u64[slot + EventStateRequest.EVENT] = event;
  return finish(slot, name);
}

/** `record`: the event marks the work that the stream has now. `wait`: the stream waits for the event. */
export function mark(name: 'record' | 'wait', device: number, stream: bigint, event: bigint): number {
  const slot = begin(MarkRequest.WORDS, device);
  u64[slot + MarkRequest.STREAM] = stream;
  u64[slot + MarkRequest.EVENT] = event;
  return finish(slot, name);
}

/**
 * `clear`: fills the storage with zero bits. `handOver`: the stream may use the storage. `follow`: its data is ready
 * for the stream.
 */
export function onStorage(
  name: 'clear' | 'handOver' | 'follow',
  handle: number,
  device: number,
  stream: bigint,
): number {
  const slot = begin(StorageRequest.WORDS, device);
  u32[slot * 2 + StorageRequest.HANDLE] = handle;
  u64[slot + StorageRequest.STREAM] = stream;
  return finish(slot, name);
}

/** True when work on a stream is captured into a graph instead of running. */
export function isCapturing(device: number, stream: bigint): boolean {
  const slot = begin(CaptureRequest.WORDS, device);
  u64[slot + CaptureRequest.STREAM] = stream;
  const status = send(slot, 'isCapturing');
  const result = u32[slot * 2 + CaptureRequest.IS_CAPTURING] === 1;
  leave(slot);
  check(status, 'the state of a stream');
  return result;
}
