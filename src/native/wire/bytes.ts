/** Bytes and text on the wire, by the byte where they begin, and slots for them. */

import { Bytes, decode, encodeInto, fillBytes } from '../../base/primordials.js';
import { wire } from './memory.js';
import { enter } from './wire.js';

const { buffer, u8 } = wire;
const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** The words that hold a number of bytes, in slots of 16 bytes. */
export function wordsFor(nbytes: number): number {
  return Math.ceil(nbytes / 16) * 2;
}

/** Takes a slot for bytes, and returns the first byte. */
export function enterBytes(nbytes: number): number {
  return enter(wordsFor(nbytes)) * 8;
}

/** The longest text that is written here without the encoder. */
const SHORT = 64;

/** Writes a string as UTF-8, with a zero after it, at a byte of the wire with room for it. */
export function writeText(start: number, room: number, text: string): void {
  const { length } = text;
  let end = start;
  while (end < start + length && length <= SHORT) {
    const code = text.charCodeAt(end - start);
    if (code > 0x7f) break;
    u8[end++] = code;
  }
  if (end !== start + length) end = start + encodeInto(encoder, text, new Bytes(buffer, start, room)).written;
  u8[end] = 0;
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

/** Clears bytes from a word on. */
export function clearAt(word: number, nbytes: number): void {
  fillBytes(u8, 0, word * 8, word * 8 + nbytes);
}
