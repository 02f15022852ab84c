/** Writes values into cells of the wire: numbers, handles, and the words where tensors are described. */

import type { NativeStorage } from '../../native/memory/storage.js';
import { writeTensor } from '../../native/wire/tensor.js';
import { enter } from '../../native/wire/wire.js';
import { WireTensor } from '../../native/wire/wire-layout.js';
import { isDebug, recordExport } from '../../storage/debug.js';
import type { Descriptor } from '../../storage/descriptor.js';
import { holdStorage } from '../calls/held.js';
import { Cell, ValueKind } from '../wire-layout.js';

/** Fills the cell at a word of the wire. */
export function writeCell(word: number, kind: number, handle: number, number: number): void {
  Cell.setKind(word, kind);
  Cell.setHandle(word, handle);
  Cell.setNumber(word, number);
}

/** Fills a cell with an int or a float. -0 is a float, and so are numbers that are not safe integers. */
export function writeNumber(word: number, value: number): void {
  const isInteger = Number.isSafeInteger(value) && !Object.is(value, -0);
  writeCell(word, isInteger ? ValueKind.int : ValueKind.float, 0, value);
}

/** Describes a tensor in native memory at the top of the wire, and refers to it in a cell. The request holds its memory. */
export function writeTensorCell(word: number, descriptor: Descriptor, isCopy = false): void {
  holdStorage(descriptor.storage);
  const trace = isDebug() ? recordExport(descriptor) : 0;
  const at = enter(WireTensor.WORDS + 2 * descriptor.shape.length);
  writeTensor(at, descriptor, (descriptor.storage as NativeStorage).handle, trace);
  writeCell(word, ValueKind.tensor, isCopy ? 1 : 0, at);
}
