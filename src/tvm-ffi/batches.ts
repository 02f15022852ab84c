/** Batches: native arrays of values with their own references, for more values than one request has on the wire. */

import { wire } from '../native/wire.js';
import { WireHeader } from '../native/wire-layout.js';
import { ANY_WORDS } from './any.js';
import { takeRaised } from './errors.js';
import { ffi } from './library.js';
import { disown } from './objects.js';
import { enter, leave } from './slot.js';
import { BatchRequest } from './wire-layout.js';

const { i32, u32 } = wire;

/** Moves `count` values at the word `base` to a batch, a new one for the number 0. Returns the batch's reference. */
export function appendToBatch(batch: number, base: number, count: number): number {
  const slot = enter(BatchRequest.WORDS);
  const half = slot * 2;
  u32[half + BatchRequest.BATCH] = batch;
  u32[half + BatchRequest.VALUES] = base;
  i32[half + BatchRequest.COUNT] = count;
  u32[WireHeader.SLOT] = slot;
  ffi.appendValues();
  leave(slot);
  const made = u32[half + BatchRequest.BATCH] as number;
  if (i32[half + BatchRequest.STATUS] !== 0) {
    if (batch === 0) disown(made);
    throw takeRaised();
  }
  return made;
}

/** The values that are on the wire at a time. */
const BATCH_CHUNK = 64;

/** Collects arguments in a batch, which has its own references. */
export function collectArguments(args: readonly unknown[], write: (at: number, value: unknown) => void): number {
  let batch = 0;
  try {
    for (let start = 0; start < args.length; start += BATCH_CHUNK) {
      const count = Math.min(BATCH_CHUNK, args.length - start);
      const base = enter(count * ANY_WORDS);
      for (let i = 0; i < count; i++) write(base + i * ANY_WORDS, args[start + i]);
      batch = appendToBatch(batch, base, count);
      leave(base);
    }
    return batch;
  } catch (error) {
    if (batch !== 0) disown(batch);
    throw error;
  }
}
