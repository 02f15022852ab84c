/**
 * Plain calls: calls with few arguments, all of which are Python objects, numbers or tensors in native memory. They need no
 * temporaries, so V8 can inline most of the code from the call to its result.
 */

import { placeOf } from '../native/export.js';
import { wire } from '../native/wire.js';
import { descriptorOf, TensorView } from '../view.js';
import { writeNumber, writeTensorCell } from './cells.js';
import { findReference, knownReference, liveHandle, type Reference } from './reference.js';
import { keepSignalsLater } from './signals.js';
import { enter, leave } from './slot.js';
import { Cell, Operation, PerformRequest, ValueKind } from './wire-layout.js';

// Constants of this module; wire.ts explains why.
const { u32 } = wire;
// An import from another chunk of dist costs a load and a check at each use.
const View = TensorView;
const readDescriptor = descriptorOf;
const findPlace = placeOf;

/** The most cells of a plain call: the function and its arguments. */
export const CELLS = 8;
/** The words of a plain call. */
export const WORDS = PerformRequest.WORDS + CELLS * Cell.WORDS;

/** Takes a slot and writes the call. Returns 0, without a slot, when an argument needs more than a cell, or would be refused. */
export function enterPlainCall(subject: Reference, args: readonly unknown[]): number {
  const count = 1 + args.length;
  if (count > CELLS) return 0;
  for (let i = 0; i < args.length; i++) if (!isPlain(args[i])) return 0;
  keepSignalsLater();
  const handle = liveHandle(subject);
  const slot = enter(WORDS);
  const half = slot * 2;
  u32[half + PerformRequest.OPERATION] = Operation.call;
  u32[half + PerformRequest.COUNT] = count;
  u32[half + PerformRequest.KEYWORDS] = 0;
  u32[half + PerformRequest.SPILLED] = 0;
  const first = slot + PerformRequest.CELLS;
  writeHandle(first * 2, handle);
  for (let i = 0; i < args.length; i++) {
    const word = first + (1 + i) * Cell.WORDS;
    const reference = knownReference(args[i]);
    if (reference !== undefined && reference.handle !== 0) writeHandle(word * 2, reference.handle);
    else if (!writePlain(word, args[i])) {
      leave(slot);
      return 0;
    }
  }
  return slot;
}

/** Separate from the writing, because `instanceof` may run user code, which could release an object already written. */
export function isPlain(value: unknown): boolean {
  return (
    typeof value === 'function' || typeof value === 'number' || (typeof value === 'object' && value instanceof View)
  );
}

/** Fills a cell. Short, so that V8 inlines it everywhere. */
function writeHandle(half: number, handle: number): void {
  u32[half + Cell.KIND] = ValueKind.handle;
  u32[half + Cell.HANDLE] = handle;
}

/** Writes an argument. False when it does not fit. Then the function for all calls starts again, and throws any error. */
export function writePlain(word: number, value: unknown): boolean {
  try {
    if (typeof value === 'number') {
      writeNumber(word, value);
      return true;
    }
    if (typeof value === 'function') {
      const reference = findReference(value);
      if (reference === null || reference.handle === 0) return false;
      writeHandle(word * 2, reference.handle);
      return true;
    }
    const descriptor = readDescriptor(value as TensorView);
    if (findPlace(descriptor) !== 'native') return false;
    writeTensorCell(word, descriptor);
    return true;
  } catch {
    return false;
  }
}
