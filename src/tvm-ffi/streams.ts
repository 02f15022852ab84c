/** Streams: the queues for kernels of a device. They are set per thread, for the duration of a call. */

import { type StreamLike, streamHandle } from '../base/stream.js';
import { type Device, type DeviceInfo, parseDevice } from '../device.js';
import { ArgumentTypeError, ArgumentValueError } from '../errors.js';
import { wire } from '../native/wire.js';
import type { Descriptor } from '../storage/descriptor.js';
import { getDeviceBackend, type StreamBackend } from '../storage/device-backend.js';
import { takeRaised } from './errors.js';
import { ffi, library } from './library.js';
import { enter, request } from './slot.js';
import { StreamRequest } from './wire-layout.js';

const { i32, u64 } = wire;

/** Returns the stream for a call with tensors of a device; null leaves the stream unchanged. */
export type StreamProvider = (device: Device) => StreamLike | bigint | null;

let provider: StreamProvider | null = null;

/**
 * Sets the stream provider. From now on, the first argument of a call that is on a device other than the host selects
 * that device, and the call runs on the provider's stream for it. Null: only `withStream` sets streams.
 */
export function setStreamProvider(next: StreamProvider | null): void {
  if (next !== null && typeof next !== 'function') throw new ArgumentTypeError('provider', 'a function or null', next);
  provider = next;
}

/** The module that tracks the current stream of a device (`dlpack/cuda`); null if only TVM-FFI tracks it. */
function keeperOf(device: DeviceInfo): StreamBackend | null {
  return device.isHostAccessible ? null : (getDeviceBackend(device)?.streams ?? null);
}

/** The part of Python's module `torch` that {@link followTorchStream} uses. */
export interface TorchStreams {
  readonly cuda: { current_stream(device: number): { readonly cuda_stream: number | bigint } };
}

/**
 * Makes calls with tensors on a CUDA device run on PyTorch's current stream of that device, like `use_torch_stream` of
 * Python's tvm_ffi: `followTorchStream(py.import('torch'))`. It is a stream provider; `setStreamProvider(null)` ends
 * it.
 */
export function followTorchStream(torch: TorchStreams): void {
  if ((typeof torch !== 'object' && typeof torch !== 'function') || torch === null) {
    throw new ArgumentTypeError('torch', "the Python module, py.import('torch')", torch);
  }
  setStreamProvider((device) => {
    const { kind, id } = parseDevice(device);
    return kind === 'cuda' ? BigInt(torch.cuda.current_stream(id).cuda_stream) : null;
  });
}

/** The streams that `withStream` set on devices without such a module, by device name, the innermost last. */
const explicit = new Map<Device, bigint[]>();

/** The stream of a call: the provider's, or the current stream of the device; null when there is neither. */
export function streamOf(device: DeviceInfo): bigint | null {
  const provided = provider?.(device.name) ?? null;
  if (provided !== null) return checkHandle(streamHandle(provided));
  const keeper = keeperOf(device);
  return keeper === null ? (explicit.get(device.name)?.at(-1) ?? null) : keptStream(keeper, device);
}

/** The current stream of `dlpack/cuda`. TVM-FFI uses a null handle for the legacy default stream. */
function keptStream(keeper: StreamBackend, device: DeviceInfo): bigint {
  const current = keeper.current(device);
  return current === 1n ? 0n : current;
}

/** Makes the memory ready on the stream that kernels run on, and makes its release wait for the kernels. */
export function useOnStream(descriptor: Descriptor): void {
  const backend = getDeviceBackend(descriptor.device);
  if (backend === null || descriptor.device.isHostAccessible) return;
  const stream = streamOf(descriptor.device);
  backend.handOver(descriptor, stream === 0n ? null : stream);
}

function checkHandle(handle: bigint | null): bigint {
  if (typeof handle !== 'bigint') throw new ArgumentTypeError('stream', 'a Stream or a bigint', handle);
  if (BigInt.asUintN(64, handle) !== handle) {
    throw new ArgumentValueError('stream', 'an unsigned 64-bit stream handle', handle);
  }
  return handle;
}

/** Takes a slot for a request about the stream of a device. */
function enterStream({ type, id }: DeviceInfo): number {
  const slot = enter(StreamRequest.WORDS);
  i32[slot * 2 + StreamRequest.DEVICE_TYPE] = type;
  i32[slot * 2 + StreamRequest.DEVICE_ID] = id;
  return slot;
}

/** Sets the stream of a device and returns the previous stream. */
function exchangeStream(device: DeviceInfo, handle: bigint): bigint {
  const slot = enterStream(device);
  u64[slot + StreamRequest.STREAM] = handle;
  request(slot, () => ffi.setStream());
  if (i32[slot * 2 + StreamRequest.STATUS] !== 0) throw takeRaised();
  return u64[slot + StreamRequest.STREAM] as bigint;
}

/**
 * The current stream of a device on this thread. Kernels run on it unless a provider names another stream. 0n is the
 * default stream.
 */
export function currentStream(device: Device): bigint {
  const info = parseDevice(device);
  library();
  const keeper = keeperOf(info);
  const kept = keeper === null ? 0n : keptStream(keeper, info);
  // Another host on this thread, such as Python, may have set a stream while ours is the default stream.
  return kept === 0n ? hostStream(info) : kept;
}

/** The stream that TVM-FFI has for a device on this thread; 0n when none was set. */
export function hostStream(device: DeviceInfo): bigint {
  const slot = enterStream(device);
  request(slot, () => ffi.getStream());
  return u64[slot + StreamRequest.STREAM] as bigint;
}

/**
 * Runs `action` with a stream as the current stream of a device, and restores the previous stream when it returns or
 * throws. On a device of `dlpack/cuda` this is `stream.use(action)`, which kernels without tensors use, too. The caller
 * owns the stream; it is neither kept alive nor synchronised. In an async function this holds until the first `await`.
 * Code after that runs interleaved with other tasks and must set its stream itself.
 */
export function withStream<T>(device: Device, stream: StreamLike | bigint | null, action: () => T): T {
  const info = parseDevice(device);
  library();
  const keeper = keeperOf(info);
  if (keeper !== null) return keeper.use(info, stream, () => withHostStream(info, keptStream(keeper, info), action));
  const handle = stream === null ? currentStream(device) : checkHandle(streamHandle(stream));
  const handles = explicit.get(info.name) ?? [];
  explicit.set(info.name, handles);
  handles.push(handle);
  try {
    return withHostStream(info, handle, action);
  } finally {
    handles.pop();
  }
}

function withHostStream<T>(device: DeviceInfo, handle: bigint, action: () => T): T {
  const before = exchangeStream(device, handle);
  try {
    return action();
  } finally {
    exchangeStream(device, before);
  }
}
