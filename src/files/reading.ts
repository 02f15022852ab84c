/**
 * Parsers that request the bytes they need. So one parser serves mapped files, which answer at once, and URLs and
 * Blobs, which answer later.
 */

import { FileFormatError } from './error.js';

/** A request for a part of the file. */
export interface ByteRange {
  readonly offset: number;
  readonly length: number;
}

/** The largest expansion ratio of deflate. */
export const MAX_RATIO = 1032;

/** A request to decompress a member of a zip file. */
export interface Deflated {
  readonly deflated: Uint8Array;
  /** The exact size of the result in bytes, or the maximum for the beginning of a member. */
  readonly size: number;
  readonly isPrefix: boolean;
}

/** A parser: yields requests, receives their bytes, and returns its result. */
export type Reading<T> = Generator<ByteRange | Deflated, T, Uint8Array>;

/** The facts that a parser has about the file before it reads. */
export interface FileExtent {
  /** For messages. */
  readonly path: string;
  readonly size: number;
}

/** Answers at once. */
export interface Reader {
  read(offset: number, length: number): Uint8Array;
  /** Returns no bytes if the data is damaged. */
  inflate(request: Deflated): Uint8Array;
}

/** Answers later. */
export interface AsyncReader {
  read(offset: number, length: number, signal?: AbortSignal): Promise<Uint8Array>;
  inflate(request: Deflated): Promise<Uint8Array>;
}

/** Runs a parser to its end. */
export function readNow<T>(reading: Reading<T>, reader: Reader): T {
  let step = reading.next();
  while (step.done !== true) {
    const request = step.value;
    step = reading.next('deflated' in request ? reader.inflate(request) : reader.read(request.offset, request.length));
  }
  return step.value;
}

/** As `readNow`, for a reader that answers later. */
export async function readLater<T>(reading: Reading<T>, reader: AsyncReader, signal?: AbortSignal): Promise<T> {
  let step = reading.next();
  while (step.done !== true) {
    signal?.throwIfAborted();
    const request = step.value;
    step = reading.next(
      await ('deflated' in request ? reader.inflate(request) : reader.read(request.offset, request.length, signal)),
    );
  }
  return step.value;
}

/** Requests bytes that must be in the file. Never makes a request beyond its end. */
export function* bytesAt(file: FileExtent, offset: number, length: number, what: string): Reading<Uint8Array> {
  if (!(offset + length <= file.size)) {
    throw new FileFormatError(
      file.path,
      Math.min(offset, file.size),
      `the file ends at byte ${file.size}, inside ${what}, which needs ${offset + length} bytes`,
    );
  }
  return yield { offset, length };
}

/** A DataView of bytes, for numbers in them. */
export function viewOf(bytes: Uint8Array): DataView {
  return new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}

/** A 64-bit number as a JavaScript number. A value above 2^53 - 1 becomes Infinity, which fails every size check. */
export function readU64(view: DataView, at: number): number {
  const value = view.getUint32(at, true) + view.getUint32(at + 4, true) * 2 ** 32;
  return Number.isSafeInteger(value) ? value : Number.POSITIVE_INFINITY;
}
