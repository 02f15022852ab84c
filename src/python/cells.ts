/**
 * Writes values into the object frame: numbers and handles into cells, tensors into words.
 *
 * @module
 */

import { ArgumentValueError } from '../errors.js';
import { isDebug, recordExport } from '../native/debug.js';
import type { NativeStorage } from '../native/native-storage.js';
import type { Descriptor } from '../storage/descriptor.js';
import { CELLS, FIRST_KIND, FIRST_NUMBER, FIRST_WORD, frame, TENSOR_WORDS, ValueKind, WORDS } from './frame.js';

// Constants of this module, for the reason that frame.ts gives.
const { u32, i32, f64 } = frame;

export function writeCell(index: number, kind: number, handle: number, number: number): void {
  const at = FIRST_KIND + index * 4;
  u32[at] = kind;
  u32[at + 1] = handle;
  f64[FIRST_NUMBER + index * 2] = number;
}

/** Describes a tensor in native memory in the words from `word` on. Returns the first free word behind them. */
export function writeTensorWords(index: number, word: number, descriptor: Descriptor): number {
  const trace = isDebug() ? recordExport() : 0; // first: it may run user code that hooks stack traces
  const { device, shape, strides } = descriptor;
  const ndim = shape.length;
  const end = word + TENSOR_WORDS + 2 * ndim;
  if (end > WORDS) throw tooMany(index);
  const at = FIRST_WORD + word;
  f64[at] = descriptor.bitOffset / 8;
  f64[at + 1] = trace;
  u32[at * 2 + 4] = descriptor.dtype.packed;
  i32[at * 2 + 5] = ndim;
  i32[at * 2 + 6] = device.type;
  i32[at * 2 + 7] = device.id;
  u32[at * 2 + 8] = descriptor.flags;
  u32[at * 2 + 9] = device.isAddressable ? 1 : 0;
  for (let i = 0; i < ndim; i++) {
    f64[at + TENSOR_WORDS + i] = shape[i] as number;
    f64[at + TENSOR_WORDS + ndim + i] = strides[i] as number;
  }
  writeCell(index, ValueKind.tensor, (descriptor.storage as NativeStorage).handle, word);
  return end;
}

export function tooMany(count: number): ArgumentValueError {
  return new ArgumentValueError('arguments', `at most ${CELLS} of them at once; pass many numbers as a Tensor`, count);
}
