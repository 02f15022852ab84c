/**
 * The checksum of zip files.
 *
 * @module
 */

/** Eight tables, to process eight bytes at a step. */
let tables: Uint32Array[] | null = null;

function makeTables(): Uint32Array[] {
  const first = new Uint32Array(256);
  for (let n = 0; n < 256; n++) {
    let c = n;
    for (let k = 0; k < 8; k++) c = c & 1 ? 0xedb88320 ^ (c >>> 1) : c >>> 1;
    first[n] = c;
  }
  const made = [first];
  for (let t = 1; t < 8; t++) {
    const before = made[t - 1] as Uint32Array;
    made.push(before.map((c) => (first[c & 255] as number) ^ (c >>> 8)));
  }
  return made;
}

/** The checksum of `bytes`, continued from the checksum `before` of earlier bytes. */
export function crc32(bytes: Uint8Array, before = 0): number {
  tables ??= makeTables();
  const [t0, t1, t2, t3, t4, t5, t6, t7] = tables as [
    Uint32Array,
    Uint32Array,
    Uint32Array,
    Uint32Array,
    Uint32Array,
    Uint32Array,
    Uint32Array,
    Uint32Array,
  ];
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const whole = bytes.length & ~7;
  let c = ~before;
  for (let i = 0; i < whole; i += 8) {
    const low = view.getInt32(i, true) ^ c;
    const high = view.getInt32(i + 4, true);
    c =
      (t7[low & 255] as number) ^
      (t6[(low >>> 8) & 255] as number) ^
      (t5[(low >>> 16) & 255] as number) ^
      (t4[low >>> 24] as number) ^
      (t3[high & 255] as number) ^
      (t2[(high >>> 8) & 255] as number) ^
      (t1[(high >>> 16) & 255] as number) ^
      (t0[high >>> 24] as number);
  }
  for (let i = whole; i < bytes.length; i++) c = (t0[(c ^ (bytes[i] as number)) & 255] as number) ^ (c >>> 8);
  return ~c >>> 0;
}
