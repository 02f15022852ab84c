/** Pictures of pixels as PNG files. */

import { crc32 } from '../files/formats/crc32.js';
import { node } from './load/node-modules.js';

const SIGNATURE = [137, 80, 78, 71, 13, 10, 26, 10];
/** The number of a PNG for gray, RGB and RGBA pixels, by their channels. */
const COLOR_TYPES: { readonly [channels: number]: number } = { 1: 0, 3: 2, 4: 6 };

/** True for the numbers of channels that a picture has. */
export const isChannels = (count: number | undefined): boolean => count !== undefined && count in COLOR_TYPES;

/** A PNG of bytes in rows, columns and channels. */
export function encodePng(bytes: Uint8Array, height: number, width: number, channels: number): Uint8Array {
  const header = new DataView(new ArrayBuffer(13));
  header.setUint32(0, width);
  header.setUint32(4, height);
  header.setUint8(8, 8); // bits of a channel
  header.setUint8(9, COLOR_TYPES[channels] as number);
  const row = width * channels;
  const filtered = new Uint8Array(height * (row + 1)); // a zero before each row: no filter
  for (let y = 0; y < height; y++) filtered.set(bytes.subarray(y * row, (y + 1) * row), y * (row + 1) + 1);
  return node.buffer.Buffer.concat([
    Uint8Array.from(SIGNATURE),
    chunk('IHDR', new Uint8Array(header.buffer)),
    chunk('IDAT', node.zlib.deflateSync(filtered)),
    chunk('IEND', new Uint8Array(0)),
  ]);
}

function chunk(name: string, data: Uint8Array): Uint8Array {
  const made = new Uint8Array(data.length + 12);
  const view = new DataView(made.buffer);
  view.setUint32(0, data.length);
  for (let i = 0; i < 4; i++) made[4 + i] = name.charCodeAt(i);
  made.set(data, 8);
  view.setUint32(data.length + 8, crc32(made.subarray(4, data.length + 8)));
  return made;
}
