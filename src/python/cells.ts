/** Writes values into cells of the wire: numbers, handles, and the words where tensors are described. */

import type { NativeStorage } from '../native/native-storage.js';
import { wire } from '../native/wire.js';
import { WireHeader, WireTensor } from '../native/wire-layout.js';
import { writeTensor } from '../native/wire-tensor.js';
import { isDebug, recordExport } from '../storage/debug.js';
import type { Descriptor } from '../storage/descriptor.js';
import { enter } from './slot.js';
import { Cell, ValueKind } from './wire-layout.js';

// Constants of this module; wire.ts explains why.
const { u32, f64 } = wire;

/** Fills the cell at a word of the wire. */
export function writeCell(word: number, kind: number, handle: number, number: number): void {
  u32[word * 2 + Cell.KIND] = kind;
  u32[word * 2 + Cell.HANDLE] = handle;
  f64[word + Cell.NUMBER] = number;
}

/** Fills a cell with an int or a float. -0 is a float, and so are numbers that are not safe integers. */
export function writeNumber(word: number, value: number): void {
  const isInteger = Number.isSafeInteger(value) && !Object.is(value, -0);
  writeCell(word, isInteger ? ValueKind.int : ValueKind.float, 0, value);
}

/** Records an export. User code that hooks stack traces may release a handle that the request contains already. */
function recordInside(): number {
  const outer = u32[WireHeader.PREPARING] as number;
  u32[WireHeader.PREPARING] = 1;
  try {
    return recordExport();
  } finally {
    u32[WireHeader.PREPARING] = outer;
  }
}

/** Describes a tensor in native memory at the top of the wire, and refers to it in a cell. */
export function writeTensorCell(word: number, descriptor: Descriptor): void {
  const trace = isDebug() ? recordInside() : 0; // first, because user code may hook stack traces
  const at = enter(WireTensor.WORDS + 2 * descriptor.shape.length);
  writeTensor(at, descriptor, (descriptor.storage as NativeStorage).handle, trace);
  writeCell(word, ValueKind.tensor, 0, at);
}
