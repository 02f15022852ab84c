/**
 * Bytes and text on the wire. The functions of the runtime are those from when this module was loaded, because a patched
 * function would receive the wire, whose contents native code trusts.
 */

import { wire } from './wire.js';

const { buffer, u8 } = wire;
const { apply } = Reflect;
const Bytes = Uint8Array;
const { fill } = Bytes.prototype;
const encoder = new TextEncoder();
const decoder = new TextDecoder();
const { encodeInto } = encoder;
const { decode } = decoder;

/** Writes a string as UTF-8 at a byte of the wire, as far as there is room, and returns the number of bytes. */
export function encodeAt(start: number, room: number, text: string): number {
  return apply(encodeInto, encoder, [text, new Bytes(buffer, start, room)]).written;
}

/** The UTF-8 text at a byte of the wire. */
export function decodeAt(start: number, length: number): string {
  return apply(decode, decoder, [new Bytes(buffer, start, length)]);
}

/** A copy of a few bytes of the wire. */
export function bytesCopyAt(start: number, length: number): Uint8Array {
  const copy = new Bytes(length);
  for (let i = 0; i < length; i++) copy[i] = u8[start + i] as number;
  return copy;
}

export function clearAt(start: number, nbytes: number): void {
  apply(fill, u8, [0, start, start + nbytes]);
}

/** The hexadecimal digits of `count` bytes that start at a word of the wire. */
export function readHex(word: number, count: number): string {
  let text = '';
  for (let i = word * 8; i < word * 8 + count; i++) text += (u8[i] as number).toString(16).padStart(2, '0');
  return text;
}

/** Writes bytes, given by their hexadecimal digits, starting at a word of the wire. */
export function writeHex(word: number, text: string): void {
  for (let i = 0; 2 * i < text.length; i++) u8[word * 8 + i] = Number.parseInt(text.slice(2 * i, 2 * i + 2), 16);
}
