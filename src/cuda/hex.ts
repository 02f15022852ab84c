/**
 * Bytes of the frame as hexadecimal digits: handles and identifiers of the driver. By hand, because methods of arrays may be
 * patched, and would be handed the frame.
 *
 * @module
 */

import { cudaFrame, VALUES } from './frame.js';

const bytes = new Uint8Array(cudaFrame, VALUES * 8, 64);

/** So many bytes of the frame's values, from one of them on. */
export function readValues(from: number, count: number): string {
  let text = '';
  for (let i = from; i < from + count; i++) text += (bytes[i] as number).toString(16).padStart(2, '0');
  return text;
}

/** The frame's values from 128 digits. */
export function writeValues(text: string): void {
  for (let i = 0; i < 64; i++) bytes[i] = Number.parseInt(text.slice(2 * i, 2 * i + 2), 16);
}
