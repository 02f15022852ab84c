/** The stream on which a call runs. */

import { type StreamLike, streamHandle } from '../../base/stream.js';
import type { Device, DeviceInfo } from '../../device.js';
import { ArgumentTypeError, ArgumentValueError } from '../../errors.js';
import type { Descriptor } from '../../storage/descriptor.js';
import { getDeviceBackend, type StreamBackend } from '../../storage/device-backend.js';

/** Returns the stream for a call with tensors of a device; null leaves the stream unchanged. */
export type StreamProvider = (device: Device) => StreamLike | bigint | null;

let provider: StreamProvider | null = null;

/**
 * Sets the stream provider. From now on, the first argument of a call that is on a device other than the host selects
 * that device, and the call runs on the provider's stream for it. Null: only `withStream` sets streams.
 *
 * @param next - Returns the stream for a device, a `Stream` or a handle, or null for no change; null removes the
 *   provider.
 * @throws ArgumentTypeError for anything else.
 * @example
 * ```ts
 * import { setStreamProvider } from 'dlpack/tvm-ffi';
 * setStreamProvider((device) => (device === 'cuda:0' ? 0n : null)); // 0n: the default stream
 * setStreamProvider(null);
 * ```
 */
export function setStreamProvider(next: StreamProvider | null): void {
  if (next !== null && typeof next !== 'function') throw new ArgumentTypeError('provider', 'a function or null', next);
  provider = next;
}

/** The module that tracks the current stream of a device (`dlpack/cuda`); null if only TVM-FFI tracks it. */
export function keeperOf(device: DeviceInfo): StreamBackend | null {
  return device.isHostAccessible ? null : (getDeviceBackend(device)?.streams ?? null);
}

/** The streams that `withStream` set on devices without such a module, by device name, the innermost last. */
export const explicit = new Map<Device, bigint[]>();

/** The stream of a call: the provider's, or the current stream of the device; null when there is neither. */
export function streamOf(device: DeviceInfo): bigint | null {
  const provided = provider?.(device.name) ?? null;
  if (provided !== null) return checkHandle(streamHandle(provided));
  const keeper = keeperOf(device);
  return keeper === null ? (explicit.get(device.name)?.at(-1) ?? null) : keptStream(keeper, device);
}

/** The current stream of `dlpack/cuda`. TVM-FFI uses a null handle for the legacy default stream. */
export function keptStream(keeper: StreamBackend, device: DeviceInfo): bigint {
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

export function checkHandle(handle: bigint | null): bigint {
  if (typeof handle !== 'bigint') throw new ArgumentTypeError('stream', 'a Stream or a bigint', handle);
  if (BigInt.asUintN(64, handle) !== handle) {
    throw new ArgumentValueError('stream', 'an unsigned 64-bit stream handle', handle);
  }
  return handle;
}
