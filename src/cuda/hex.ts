/**
 * Converts bytes of a message, such as handles and identifiers of the driver, to hexadecimal digits. Written by hand,
 * because patched array methods would receive the wire.
 *
 * @module
 */

import { wire } from '../native/wire.js';

const { u8 } = wire;

/** Reads `count` bytes that start at a word of the wire. */
export function readHex(word: number, count: number): string {
  let text = '';
  for (let i = word * 8; i < word * 8 + count; i++) text += (u8[i] as number).toString(16).padStart(2, '0');
  return text;
}

/** Writes the bytes of a text, starting at a word of the wire. */
export function writeHex(word: number, text: string): void {
  for (let i = 0; 2 * i < text.length; i++) u8[word * 8 + i] = Number.parseInt(text.slice(2 * i, 2 * i + 2), 16);
}
