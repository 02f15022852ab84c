/**
 * The current stream of each device on this thread, by the driver's handle. Native code has the same, for those who ask it.
 *
 * @module
 */

import { ArgumentTypeError, ArgumentValueError } from '../errors.js';
import { cuda } from './driver.js';
import { DEVICE, i32, STREAM, u64 } from './frame.js';

/** The default streams of every device, as the driver names them. */
export const LEGACY_STREAM = 1n;
export const PER_THREAD_STREAM = 2n;

const handles: bigint[] = [];

/** Where this thread queues work on a device. */
export function currentHandle(id: number): bigint {
  return handles[id] ?? LEGACY_STREAM;
}

export function setCurrentHandle(id: number, handle: bigint): void {
  const binding = cuda();
  handles[id] = handle;
  i32[DEVICE] = id;
  u64[STREAM] = handle;
  binding.setCurrent();
}

/** A handle as other libraries write it: 0 is how they name the legacy default stream. */
export function checkHandle(handle: bigint): bigint {
  if (typeof handle !== 'bigint') throw new ArgumentTypeError('handle', 'a bigint', handle);
  if (BigInt.asUintN(64, handle) !== handle) throw new ArgumentValueError('handle', 'a stream of the driver', handle);
  return handle === 0n ? LEGACY_STREAM : handle;
}

/**
 * A stream by its number in the array API: null for the default stream, -1 for none (returns null), 1 and 2 for the default
 * streams, else a handle. 0 is refused, because libraries disagree about its meaning.
 */
export function streamOfNumber(stream: bigint | number | null): bigint | null {
  if (stream === null) return LEGACY_STREAM;
  const number = typeof stream === 'number' && Number.isSafeInteger(stream) ? BigInt(stream) : stream;
  if (typeof number !== 'bigint') throw new ArgumentTypeError('stream', 'a bigint, -1n or null', stream);
  if (number === -1n) return null;
  if (number === 0n) {
    throw new ArgumentValueError(
      'stream',
      '1n (the legacy default stream), 2n (the default stream of a thread) or a handle; 0 is ambiguous and forbidden',
      stream,
    );
  }
  return checkHandle(number);
}
