/**
 * Plain calls: calls with few arguments, all of which are Python objects, numbers or tensors in native memory. Writing them
 * needs no lists of other values.
 */

import { placeOf } from '../../native/exchange/export.js';
import { enter } from '../../native/wire/wire.js';
import { TensorResult } from '../../native/wire/wire-layout.js';
import { descriptorOf, TensorView } from '../../view.js';
import { findReference, type Reference } from '../objects/reference.js';
import { writeHandle, writeNumber, writeTensorCell } from '../values/cells.js';
import { Cell, PerformRequest } from '../wire-layout.js';
import { holdReference } from './held.js';

/** The most cells of a plain call: the function and its arguments. */
const CELLS = 8;
/** The words of a plain call. */
const WORDS = PerformRequest.WORDS + CELLS * Cell.WORDS;

/** Whether the call may be plain. */
export function mayBePlain(args: readonly unknown[]): boolean {
  if (args.length >= CELLS) return false;
  for (let i = 0; i < args.length; i++) if (!isPlain(args[i])) return false;
  return true;
}

function isPlain(value: unknown): boolean {
  return (
    typeof value === 'function' ||
    typeof value === 'number' ||
    (typeof value === 'object' && value instanceof TensorView)
  );
}

/** Takes the slot of a plain call. */
export function enterPlainCall(): number {
  return enter(WORDS + TensorResult.WORDS);
}

/** Writes the call. Returns false when an argument needs more than a cell, or would be refused. */
export function writePlainCall(slot: number, operation: number, subject: Reference, args: readonly unknown[]): boolean {
  PerformRequest.setOperation(slot, operation);
  PerformRequest.setCount(slot, 1 + args.length);
  PerformRequest.setKeywords(slot, 0);
  PerformRequest.setSpilled(slot, 0);
  PerformRequest.setTensorSlot(slot, slot + WORDS);
  let word = PerformRequest.cellsAt(slot);
  writeHandle(word, holdReference(subject));
  for (let i = 0; i < args.length; i++) {
    word += Cell.WORDS;
    if (!writePlain(word, args[i])) return false;
  }
  return true;
}

function writePlain(word: number, value: unknown): boolean {
  if (typeof value === 'number') {
    writeNumber(word, value);
    return true;
  }
  if (typeof value === 'function') {
    const reference = findReference(value);
    if (reference === null) return false;
    writeHandle(word, holdReference(reference));
    return true;
  }
  const descriptor = descriptorOf(value as TensorView);
  if (placeOf(descriptor) !== 'native') return false;
  writeTensorCell(word, descriptor);
  return true;
}
