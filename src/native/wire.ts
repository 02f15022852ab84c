/**
 * The wire: one block of memory for each instance of the package, which JavaScript and C++ share. native/wire.h is the
 * C++ side.
 *
 * It is a stack of 8-byte words. A request takes a slot, writes its message there (wire-layout.ts) and leaves the slot
 * when it has read the results. Code that runs in the middle of a request uses slots above it, so no request can
 * disturb another.
 */

import { BufferError } from '../errors.js';
import { Wire, WireHeader } from './wire-layout.js';

const buffer = new ArrayBuffer(Wire.WORDS * 8);

/**
 * The block, and arrays over it. Importing modules destructure it into constants, because V8 folds those into its
 * optimised code.
 */
export const wire = {
  buffer,
  f64: new Float64Array(buffer),
  u64: new BigUint64Array(buffer),
  i64: new BigInt64Array(buffer),
  u32: new Uint32Array(buffer),
  i32: new Int32Array(buffer),
  u8: new Uint8Array(buffer),
} as const;

const { u32 } = wire;
u32[WireHeader.TOP] = Wire.FIRST_SLOT;

/**
 * Takes a slot of `words` words, an even number, because slots are 16-byte aligned. A request may take more slots above
 * its own. Leaving the first slot frees them all.
 */
export function enter(words: number): number {
  const slot = u32[WireHeader.TOP] as number;
  const top = slot + words;
  if (top > Wire.WORDS) throw wireIsFull();
  u32[WireHeader.TOP] = top;
  return slot;
}

/**
 * The first free slot, which is not taken. For requests whose native function reads its inputs before, and writes its
 * results after, everything that could run JavaScript. They need not free the slot either.
 */
export function freeSlot(words: number): number {
  const slot = u32[WireHeader.TOP] as number;
  if (slot > Wire.WORDS - words) throw wireIsFull();
  return slot;
}

/** Frees a slot and everything above it. */
export function leave(slot: number): void {
  u32[WireHeader.TOP] = slot;
}

/** Makes the request in a slot and frees the slot. Its results can be read until the next slot is taken. */
export function request<T>(slot: number, send: () => T): T {
  u32[WireHeader.SLOT] = slot;
  try {
    return send();
  } finally {
    leave(slot);
  }
}

export function wireIsFull(): BufferError {
  return new BufferError(
    'Expected room for one more request to native code but the wire is full; nest fewer calls, or pass fewer values at once',
  );
}
