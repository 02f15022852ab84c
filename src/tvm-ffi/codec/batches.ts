/** Batches: native arrays of values with their own references, for more values than one request has on the wire. */

import { enter, leave } from '../../native/wire/wire.js';
import { releaseValues, running } from '../calls/held.js';
import { ffi } from '../library.js';
import { orRaised } from '../objects/errors.js';
import { disown } from '../objects/objects.js';
import { Any } from '../wire-layout.js';

/** Moves `count` values at the word `base` to a batch, a new one for the number 0. Returns the batch's reference. */
export function appendToBatch(batch: number, base: number, count: number): number {
  return orRaised(ffi.appendValues(batch, base, count));
}

/** The values that are on the wire at a time. */
const BATCH_CHUNK = 64;

/** Collects arguments in a batch, which has its own references. */
export function collectArguments(args: readonly unknown[], write: (at: number, value: unknown) => void): number {
  let batch = 0;
  try {
    for (let start = 0; start < args.length; start += BATCH_CHUNK) {
      const count = Math.min(BATCH_CHUNK, args.length - start);
      const base = enter(count * Any.WORDS);
      const mark = running.held.length;
      for (let i = 0; i < count; i++) write(Any.at(base, i), args[start + i]);
      batch = appendToBatch(batch, base, count);
      releaseValues(mark);
      leave(base);
    }
    return batch;
  } catch (error) {
    if (batch !== 0) disown(batch);
    throw error;
  }
}
