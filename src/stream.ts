/**
 * Streams as a program names them: an object such as `Stream` of dlpack/cuda, the number that Python libraries take, or
 * null for the current stream. A protocol request carries the number alone, and there null is the default stream.
 *
 * @module
 */

import { ArgumentTypeError } from './errors.js';

/** A stream of any library: `handle` is the driver's own, which `Stream` of dlpack/cuda has. */
export interface StreamLike {
  readonly handle: bigint;
}

/** A stream in every function that a program calls; null and undefined are the current stream. */
export type StreamArgument = StreamLike | bigint | null | undefined;

/** The number of a stream, or null. */
export function streamHandle(stream: StreamArgument): bigint | null {
  if (stream === undefined || stream === null || typeof stream === 'bigint') return stream ?? null;
  const handle: unknown = typeof stream === 'object' ? stream.handle : undefined;
  if (typeof handle === 'bigint') return handle;
  throw new ArgumentTypeError('stream', 'a Stream of dlpack/cuda, a bigint or null', stream);
}
