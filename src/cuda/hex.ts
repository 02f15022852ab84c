/**
 * Bytes of a message as hexadecimal digits: handles and identifiers of the driver. By hand, because methods of arrays may be
 * patched, and would receive the wire.
 *
 * @module
 */

import { wire } from '../native/wire.js';

const { u8 } = wire;

/** So many bytes from a word of the wire on. */
export function readHex(word: number, count: number): string {
  let text = '';
  for (let i = word * 8; i < word * 8 + count; i++) text += (u8[i] as number).toString(16).padStart(2, '0');
  return text;
}

/** The bytes of a text from a word of the wire on. */
export function writeHex(word: number, text: string): void {
  for (let i = 0; 2 * i < text.length; i++) u8[word * 8 + i] = Number.parseInt(text.slice(2 * i, 2 * i + 2), 16);
}
