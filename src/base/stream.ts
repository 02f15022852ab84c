/**
 * The forms of a stream in public functions: an object such as `Stream` of dlpack/cuda, the number that Python
 * libraries use, or null for the current stream. A protocol request carries only the number, and there null is the
 * default stream.
 */

import { ArgumentTypeError, isUsable } from '../errors.js';

/** A stream of any library. `handle` is the driver's handle, as in `Stream` of dlpack/cuda. */
export interface StreamLike {
  /** The `cudaStream_t` as a number. */
  readonly handle: bigint;
}

/** A stream argument of a public function; null and undefined mean the current stream. */
export type StreamArgument = StreamLike | bigint | null | undefined;

/** The number of a stream, or null. */
export function streamHandle(stream: StreamArgument): bigint | null {
  if (stream === undefined || stream === null || typeof stream === 'bigint') return stream ?? null;
  const handle: unknown = isUsable(stream) ? stream.handle : undefined;
  if (typeof handle === 'bigint') return handle;
  throw new ArgumentTypeError('stream', 'a Stream of dlpack/cuda, a bigint or null', stream);
}
