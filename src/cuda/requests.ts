/**
 * Requests that several modules make: on a device, a stream or an event. Each returns the CUresult.
 *
 * @module
 */

import { enter, leave, wire } from '../native/wire.js';
import { WireHeader } from '../native/wire-layout.js';
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

export function onDevice(name: 'trim' | 'synchronizeDevice' | 'queryDevice', device: number): number {
  const binding = cuda();
  const slot = enter(DeviceRequest.WORDS);
  i32[slot * 2 + DeviceRequest.DEVICE] = device;
  u32[WireHeader.SLOT] = slot;
  binding[name]();
  const status = i32[slot * 2 + DeviceRequest.STATUS] as number;
  leave(slot);
  return status;
}

export function onStream(name: 'synchronizeStream' | 'queryStream', device: number, stream: bigint): number {
  const binding = cuda();
  const slot = enter(StreamStateRequest.WORDS);
  i32[slot * 2 + StreamStateRequest.DEVICE] = device;
  u64[slot + StreamStateRequest.STREAM] = stream;
  u32[WireHeader.SLOT] = slot;
  binding[name]();
  const status = i32[slot * 2 + StreamStateRequest.STATUS] as number;
  leave(slot);
  return status;
}

export function onEvent(name: 'synchronizeEvent' | 'queryEvent', device: number, event: bigint): number {
  const binding = cuda();
  const slot = enter(EventStateRequest.WORDS);
  i32[slot * 2 + EventStateRequest.DEVICE] = device;
  u64[slot + EventStateRequest.EVENT] = event;
  u32[WireHeader.SLOT] = slot;
  binding[name]();
  const status = i32[slot * 2 + EventStateRequest.STATUS] as number;
  leave(slot);
  return status;
}

/** `record`: the event marks the work that the stream has now. `wait`: the stream waits for the event. */
export function mark(name: 'record' | 'wait', device: number, stream: bigint, event: bigint): number {
  const binding = cuda();
  const slot = enter(MarkRequest.WORDS);
  i32[slot * 2 + MarkRequest.DEVICE] = device;
  u64[slot + MarkRequest.STREAM] = stream;
  u64[slot + MarkRequest.EVENT] = event;
  u32[WireHeader.SLOT] = slot;
  binding[name]();
  const status = i32[slot * 2 + MarkRequest.STATUS] as number;
  leave(slot);
  return status;
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
  const binding = cuda();
  const slot = enter(StorageRequest.WORDS);
  u32[slot * 2 + StorageRequest.HANDLE] = handle;
  i32[slot * 2 + StorageRequest.DEVICE] = device;
  u64[slot + StorageRequest.STREAM] = stream;
  u32[WireHeader.SLOT] = slot;
  binding[name]();
  const status = i32[slot * 2 + StorageRequest.STATUS] as number;
  leave(slot);
  return status;
}

/** True when work on a stream is captured into a graph instead of running. */
export function isCapturing(device: number, stream: bigint): boolean {
  const binding = cuda();
  const slot = enter(CaptureRequest.WORDS);
  i32[slot * 2 + CaptureRequest.DEVICE] = device;
  u64[slot + CaptureRequest.STREAM] = stream;
  u32[WireHeader.SLOT] = slot;
  binding.isCapturing();
  const status = i32[slot * 2 + CaptureRequest.STATUS];
  const result = u32[slot * 2 + CaptureRequest.IS_CAPTURING] === 1;
  leave(slot);
  check(status, 'the state of a stream');
  return result;
}
