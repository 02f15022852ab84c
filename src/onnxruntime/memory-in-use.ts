/**
 * Memory that runs write to. ONNX Runtime does not notice if an output overlaps an input, or if two runs write to one
 * tensor, and then computes wrong values. So runs with given outputs are compared here, by address.
 */

import { BufferError } from '../errors.js';
import { storageAddress } from '../native/exchange/export.js';
import { type Prepared, tensorsOf } from './values.js';

interface Range {
  readonly name: string;
  readonly start: bigint;
  readonly end: bigint;
  readonly isWritten: boolean;
}

/** The ranges of asynchronous runs that have not ended. */
const active = new Set<readonly Range[]>();
let written = 0;

function addRanges(ranges: Range[], values: Tensors['inputs'], isWritten: boolean): void {
  for (const [name, value] of values) {
    for (const { storage, bitOffset, nbytes } of tensorsOf(value)) {
      if (nbytes === 0) continue;
      const start = storageAddress(storage) + BigInt(bitOffset / 8);
      ranges.push({ name, start, end: start + BigInt(nbytes), isWritten });
    }
  }
}

/** The tensors of a run, by name. */
export interface Tensors {
  readonly inputs: readonly (readonly [name: string, value: Prepared])[];
  readonly outputs: readonly (readonly [name: string, value: Prepared])[];
}

/**
 * Throws if a given output overlaps another tensor of its run, or of an asynchronous run that has not ended. Returns the
 * function that ends the use of the memory. A synchronous run that writes to no tensor of the program needs no entry,
 * because nothing starts before it has ended.
 */
export function useMemory({ inputs, outputs }: Tensors, isAsync: boolean): () => void {
  if (!isAsync && outputs.length === 0 && written === 0) return () => {};
  const ranges: Range[] = [];
  addRanges(ranges, inputs, false);
  addRanges(ranges, outputs, true);
  if (outputs.length > 0 || written > 0) compare(ranges);
  const writes = outputs.length > 0 ? 1 : 0;
  active.add(ranges);
  written += writes;
  return () => {
    if (active.delete(ranges)) written -= writes;
  };
}

function compare(ranges: readonly Range[]): void {
  ranges.forEach((range, i) => {
    for (const other of ranges.slice(i + 1)) check(range, other, 'of the same run');
    for (const run of active) for (const other of run) check(range, other, 'of a run that has not ended');
  });
}

const textOf = ({ name, isWritten }: Range) => `${isWritten ? 'output' : 'input'} '${name}'`;

function check(a: Range, b: Range, whose: string): void {
  if (!(a.isWritten || b.isWritten) || a.start >= b.end || b.start >= a.end) return;
  throw new BufferError(
    `Expected memory of its own for ${textOf(a)} but it overlaps ${textOf(b)} ${whose}; use another tensor, or wait for that run`,
  );
}
