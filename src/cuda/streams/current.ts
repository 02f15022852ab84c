/**
 * The current stream of each device on this thread, by the driver's handle. Native code has a copy for native callers.
 */

import { ArgumentTypeError, ArgumentValueError } from '../../errors.js';
import { cuda } from '../driver.js';

/** The default streams of every device, as the driver names them. */
export const LEGACY_STREAM = 1n;
export const PER_THREAD_STREAM = 2n;

const handles: bigint[] = [];

/** The stream on which this thread queues work for a device. */
export function currentHandle(id: number): bigint {
  return handles[id] ?? LEGACY_STREAM;
}

/**
 * Sets the current stream in JavaScript and, for native callers, in native code. Returns the previous stream of native
 * code, which another instance of this package on the same thread may have set.
 */
export function setCurrentHandle(id: number, handle: bigint, there: bigint = handle): bigint {
  const binding = cuda(); // throws without a driver
  handles[id] = handle;
  return binding.setCurrent(id, there);
}

/** A handle from another library, where 0 is the legacy default stream. */
export function checkHandle(handle: bigint): bigint {
  if (typeof handle !== 'bigint') throw new ArgumentTypeError('handle', 'a bigint', handle);
  if (BigInt.asUintN(64, handle) !== handle) throw new ArgumentValueError('handle', 'a stream of the driver', handle);
  return handle === 0n ? LEGACY_STREAM : handle;
}

/**
 * A stream by its number in the array API: null for the default stream, -1 for none (returns null), 1 and 2 for the
 * default streams, else a handle. Throws for 0, because libraries disagree about its meaning.
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
