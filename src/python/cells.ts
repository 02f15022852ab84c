/**
 * Values on their way to Python, as cells of the object frame.
 *
 * @module
 */

import { Kind, writeCell } from './frame.js';

/** A reference to a Python object, by its number in the native table; 0 once it was dropped. */
export class Reference {
  handle: number;
  constructor(handle: number) {
    this.handle = handle;
  }
}

/** A value on its way to Python: as it is, or as a handle. */
export type Prepared = null | boolean | number | bigint | string | Uint8Array | Taken | Reference;

/** A handle that was made for one use: native code takes it over with the cell. */
export class Taken {
  handle: number;
  constructor(handle: number) {
    this.handle = handle;
  }
}

/** Writes one cell; what does not fit into it is returned. */
export function encode(index: number, value: Prepared): string | Uint8Array | null {
  if (value instanceof Taken) writeCell(index, Kind.taken, value.handle, 0);
  else if (value instanceof Reference) writeCell(index, Kind.handle, value.handle, 0);
  else if (typeof value === 'number') {
    // -0 is a float, and so is everything that a 64-bit integer does not hold exactly.
    const kind = Number.isSafeInteger(value) && !Object.is(value, -0) ? Kind.int : Kind.float;
    writeCell(index, kind, 0, value);
  } else if (value === null) writeCell(index, Kind.none, 0, 0);
  else if (typeof value === 'boolean') writeCell(index, Kind.bool, 0, value ? 1 : 0);
  else {
    const kind = typeof value === 'string' ? Kind.string : typeof value === 'bigint' ? Kind.bigint : Kind.bytes;
    writeCell(index, kind, 0, 0);
    return typeof value === 'bigint' ? String(value) : value;
  }
  return null;
}
