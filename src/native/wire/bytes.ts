/** Bytes and text on the wire. */

import { Bytes, decode, encodeInto, fillBytes } from '../../base/primordials.js';
import { wire } from './memory.js';

const { buffer, u8 } = wire;
const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** Writes a string as UTF-8 at a byte of the wire, as far as there is room, and returns the number of bytes. */
export function encodeAt(start: number, room: number, text: string): number {
  return encodeInto(encoder, text, new Bytes(buffer, start, room)).written;
}

/** The UTF-8 text at a byte of the wire. */
export function decodeAt(start: number, length: number): string {
  return decode(decoder, new Bytes(buffer, start, length));
}

/** A copy of a few bytes of the wire. */
export function bytesCopyAt(start: number, length: number): Uint8Array {
  const copy = new Bytes(length);
  for (let i = 0; i < length; i++) copy[i] = u8[start + i] as number;
  return copy;
}

export function clearAt(start: number, nbytes: number): void {
  fillBytes(u8, 0, start, start + nbytes);
}
