/** The memory of the wire, and arrays over it. Code that makes requests uses the messages of wire-layout.ts instead. */

import { Wire } from './constants.js';

const buffer = new ArrayBuffer(Wire.WORDS * 8);

export const wire = {
  buffer,
  f64: new Float64Array(buffer),
  u64: new BigUint64Array(buffer),
  i64: new BigInt64Array(buffer),
  u32: new Uint32Array(buffer),
  i32: new Int32Array(buffer),
  u8: new Uint8Array(buffer),
} as const;
