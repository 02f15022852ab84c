/**
 * Writes values into the object frame: numbers and handles into cells, tensors into words.
 *
 * @module
 */

import { ArgumentValueError } from '../errors.js';
import { isDebug, recordExport } from '../native/debug.js';
import type { NativeStorage } from '../native/native-storage.js';
import { enter } from '../native/wire.js';
import { WireTensor } from '../native/wire-layout.js';
import { writeTensor } from '../native/wire-tensor.js';
import type { Descriptor } from '../storage/descriptor.js';
import { CELLS, FIRST_KIND, FIRST_NUMBER, frame, ValueKind } from './frame.js';

// Constants of this module, for the reason that frame.ts gives.
const { u32, f64 } = frame;

export function writeCell(index: number, kind: number, handle: number, number: number): void {
  const at = FIRST_KIND + index * 4;
  u32[at] = kind;
  u32[at + 1] = handle;
  f64[FIRST_NUMBER + index * 2] = number;
}

/** A tensor in native memory, described on the wire; whoever took a slot below frees it. */
export function writeTensorCell(index: number, descriptor: Descriptor): void {
  const trace = isDebug() ? recordExport() : 0;
  const at = enter(WireTensor.WORDS + 2 * descriptor.shape.length);
  writeTensor(at, descriptor, (descriptor.storage as NativeStorage).handle, trace);
  writeCell(index, ValueKind.tensor, 0, at);
}

export function tooMany(count: number): ArgumentValueError {
  return new ArgumentValueError('arguments', `at most ${CELLS} of them at once; pass many numbers as a Tensor`, count);
}
