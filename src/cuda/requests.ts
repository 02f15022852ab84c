/** Requests on a device, a stream, an event or a storage that several modules make. */

import type { DeviceInfo } from '../device.js';
import { enter, leave, wire } from '../native/wire.js';
import { WireHeader } from '../native/wire-layout.js';
import type { MarkFunction, MessageFunction } from './binding.js';
import { check, cuda, NOT_READY } from './driver.js';
import { CaptureRequest, DeviceRequest, MarkRequest, StorageRequest } from './wire-layout.js';

const { i32, u32, u64 } = wire;

/** Takes a slot for a message that begins like a {@link DeviceRequest}. The caller writes its other fields. */
export function begin(words: number, device: number): number {
  cuda(); // throws without a driver, so before the slot is taken
  const slot = enter(words);
  i32[slot * 2 + DeviceRequest.DEVICE] = device;
  return slot;
}

/** Sends the request in a slot and frees the slot. The results can be read until the next slot is taken. Returns the CUresult. */
export function send(slot: number, name: MessageFunction): number {
  const binding = cuda();
  u32[WireHeader.SLOT] = slot;
  binding[name]();
  leave(slot);
  return i32[slot * 2 + DeviceRequest.STATUS] as number;
}

/** As {@link send}. Throws unless the driver succeeded. `what` follows "Expected" in the message. */
export function run(slot: number, name: MessageFunction, what: string): void {
  check(send(slot, name), what);
}

export function onDevice(name: 'trim' | 'synchronizeDevice', device: number, what: string): void {
  run(begin(DeviceRequest.WORDS, device), name, what);
}

/** The state of a device, as a CUresult. */
export function queryDevice(device: number): number {
  return send(begin(DeviceRequest.WORDS, device), 'queryDevice');
}

function sendMark(name: MarkFunction, device: number, stream: bigint, event: bigint): number {
  const slot = begin(MarkRequest.WORDS, device);
  u64[slot + MarkRequest.STREAM] = stream;
  u64[slot + MarkRequest.EVENT] = event;
  return send(slot, name);
}

/** False for the CUresult of work that has not finished. */
function isOver(status: number, what: string): boolean {
  if (status === NOT_READY) return false;
  check(status, `${what} to succeed`);
  return true;
}

/** Waits for the work that a stream has now, or returns whether it has finished. */
export function onStream(
  name: 'synchronizeStream' | 'queryStream',
  { id, name: where }: DeviceInfo,
  stream: bigint,
  of = '',
): boolean {
  return isOver(sendMark(name, id, stream, 0n), `work on ${of}'${where}'`);
}

/** Waits for the work that an event marks, or returns whether it has finished. */
export function onEvent(name: 'synchronizeEvent' | 'queryEvent', device: DeviceInfo, event: bigint): boolean {
  return isOver(sendMark(name, device.id, 0n, event), `work on '${device.name}'`);
}

/** `record`: the event marks the work that the stream has now. `wait`: the stream waits for the event. */
export function mark(name: 'record' | 'wait', device: number, stream: bigint, event: bigint, what: string): void {
  check(sendMark(name, device, stream, event), what);
}

/** `handOver`: the stream may use the storage. `follow`: its data is ready for the stream. Returns the CUresult. */
export function onStorage(name: 'handOver' | 'follow', handle: number, device: number, stream: bigint): number {
  const slot = begin(StorageRequest.WORDS, device);
  u32[slot * 2 + StorageRequest.HANDLE] = handle;
  u64[slot + StorageRequest.STREAM] = stream;
  return send(slot, name);
}

/** True when work on a stream is captured into a graph instead of running. */
export function isCapturing(device: number, stream: bigint): boolean {
  const slot = begin(CaptureRequest.WORDS, device);
  u64[slot + CaptureRequest.STREAM] = stream;
  run(slot, 'isCapturing', 'the state of a stream');
  return u32[slot * 2 + CaptureRequest.IS_CAPTURING] === 1;
}
