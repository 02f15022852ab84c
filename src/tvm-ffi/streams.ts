/**
 * Streams: where kernels of a device queue their work. Per thread, and for the length of a call.
 *
 * @module
 */

import { type Device, type DeviceInfo, parseDevice } from '../device.js';
import { ArgumentTypeError, ArgumentValueError } from '../errors.js';
import type { Descriptor } from '../storage/descriptor.js';
import { getDeviceBackend } from '../storage/device-backend.js';
import { DEVICE, i32, STATUS, STREAM, u64 } from './call-frame.js';
import { takeRaised } from './errors.js';
import { ffi, library } from './library.js';

/** Names the stream that a call with tensors of a device runs on; null leaves it as it is. */
export type StreamProvider = (device: Device) => bigint | null;

let provider: StreamProvider | null = null;

/**
 * From now on the first argument of a call that is not on the host sets the stream of its device, to what the provider
 * says, until the call returns or throws. Null: streams are what `withStream` set.
 */
export function setStreamProvider(next: StreamProvider | null): void {
  if (next !== null && typeof next !== 'function') throw new ArgumentTypeError('provider', 'a function or null', next);
  provider = next;
}

/** The streams that `withStream` set, by the name of their device; the innermost last. */
const explicit = new Map<Device, bigint[]>();

/** The stream of a call: from the provider, from `withStream`, or the current stream of `dlpack/cuda`; null when none of them has one. */
function streamOf(device: DeviceInfo): bigint | null {
  const stream = provider?.(device.name) ?? explicit.get(device.name)?.at(-1);
  if (stream !== undefined) {
    checkHandle(stream);
    return stream;
  }
  if (device.isHostAccessible) return null;
  const current = getDeviceBackend(device)?.currentStream(device) ?? null;
  // TVM-FFI knows the legacy default stream as a null handle.
  return current === 1n ? 0n : current;
}

/** Has kernels find the memory ready on the stream that they run on, and the memory wait for them when it is released. */
export function useOnStream(descriptor: Descriptor): void {
  const backend = getDeviceBackend(descriptor.device);
  if (backend === null || descriptor.device.isHostAccessible) return;
  const stream = streamOf(descriptor.device);
  backend.handOver(descriptor, stream === 0n ? null : stream);
}

/** Has the call that follows set the stream of a device. */
export function writeStream(device: DeviceInfo): void {
  const stream = streamOf(device);
  if (stream === null) return;
  u64[STREAM] = stream;
  i32[DEVICE] = device.type;
  i32[DEVICE + 1] = device.id;
}

/** The same for a call on another thread, which does not see the streams of this one. */
export function captureStream(device: DeviceInfo): void {
  const stream = streamOf(device) ?? currentStream(device.name);
  u64[STREAM] = stream;
  i32[DEVICE] = device.type;
  i32[DEVICE + 1] = device.id;
}

function checkHandle(handle: bigint): void {
  if (typeof handle !== 'bigint') throw new ArgumentTypeError('handle', 'a bigint', handle);
  if (BigInt.asUintN(64, handle) !== handle) {
    throw new ArgumentValueError('handle', 'an unsigned 64-bit stream handle', handle);
  }
}

/** Sets the stream of a device and returns the one before. */
function exchangeStream(device: DeviceInfo, handle: bigint): bigint {
  i32[DEVICE] = device.type;
  i32[DEVICE + 1] = device.id;
  u64[STREAM] = handle;
  ffi.setStream();
  i32[DEVICE] = 0;
  if (i32[STATUS] !== 0) throw takeRaised();
  return u64[STREAM] as bigint;
}

/** The stream of a device on this thread; 0n when none was set. */
export function currentStream(device: Device): bigint {
  const { type, id } = parseDevice(device);
  library();
  i32[DEVICE] = type;
  i32[DEVICE + 1] = id;
  ffi.getStream();
  i32[DEVICE] = 0;
  return u64[STREAM] as bigint;
}

/**
 * Runs `action` with a stream as the current one of a device, and puts the one before back when it returns or throws. The
 * handle is the caller's; it is neither kept nor synchronised with. For an async function that is when it first awaits:
 * what runs afterwards, interleaved with other tasks, must set its stream itself.
 */
export function withStream<T>(device: Device, handle: bigint, action: () => T): T {
  const info = parseDevice(device);
  checkHandle(handle);
  library();
  const before = exchangeStream(info, handle);
  const handles = explicit.get(info.name) ?? [];
  explicit.set(info.name, handles);
  handles.push(handle);
  try {
    return action();
  } finally {
    handles.pop();
    exchangeStream(info, before);
  }
}
