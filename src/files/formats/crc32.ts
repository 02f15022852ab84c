/** The checksum of zip files. */

/** Eight tables of 256 numbers, one after the other, to process eight bytes at a step. */
let tables: Uint32Array | null = null;

function makeTables(): Uint32Array {
  const made = new Uint32Array(8 * 256);
  for (let n = 0; n < 256; n++) {
    let c = n;
    for (let k = 0; k < 8; k++) c = c & 1 ? 0xedb88320 ^ (c >>> 1) : c >>> 1;
    made[n] = c;
  }
  for (let n = 256; n < made.length; n++) {
    const before = made[n - 256] as number;
    made[n] = (made[before & 255] as number) ^ (before >>> 8);
  }
  return made;
}

/** The checksum of `bytes`, continued from the checksum `before` of earlier bytes. */
export function crc32(bytes: Uint8Array, before = 0): number {
  tables ??= makeTables();
  const table = tables;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const whole = bytes.length & ~7;
  let c = ~before;
  for (let i = 0; i < whole; i += 8) {
    const low = view.getInt32(i, true) ^ c;
    const high = view.getInt32(i + 4, true);
    c =
      (table[7 * 256 + (low & 255)] as number) ^
      (table[6 * 256 + ((low >>> 8) & 255)] as number) ^
      (table[5 * 256 + ((low >>> 16) & 255)] as number) ^
      (table[4 * 256 + (low >>> 24)] as number) ^
      (table[3 * 256 + (high & 255)] as number) ^
      (table[2 * 256 + ((high >>> 8) & 255)] as number) ^
      (table[256 + ((high >>> 16) & 255)] as number) ^
      (table[high >>> 24] as number);
  }
  for (let i = whole; i < bytes.length; i++) c = (table[(c ^ (bytes[i] as number)) & 255] as number) ^ (c >>> 8);
  return ~c >>> 0;
}
