/**
 * Limits of what a header may hold. They are far above what any model has, and they bound the memory and the time that a
 * hostile file can take.
 */

import { OutOfMemoryError } from '../errors.js';
import { FileFormatError } from './error.js';

/** Bytes of a header, an index or a directory. The reference implementation of safetensors has this limit, too. */
export const MAX_HEADER = 100_000_000;
/** Tensors, pairs of metadata, or members of an archive. The largest models have about 200,000 tensors. */
export const MAX_NAMES = 1_000_000;

/** Throws if a header has more names than the limit. */
export function checkNames(path: string, offset: number, count: number, what: string): void {
  if (count > MAX_NAMES) throw new FileFormatError(path, offset, `there are more than ${MAX_NAMES} ${what}`);
}

/** New bytes for a part of a file. Throws `OutOfMemoryError` if there is no memory for them. */
export function newBytes(length: number): Uint8Array<ArrayBuffer> {
  try {
    return new Uint8Array(length);
  } catch (cause) {
    throw new OutOfMemoryError(`could not allocate ${length} bytes for a part of a file`, length, { cause });
  }
}
