/**
 * What is alive: counts of the whole process, and in debug mode where it was made.
 *
 * @module
 */

import { isDebug, liveOrigins, type Origin } from './debug.js';
import { f64, NBYTES, SHAPE } from './frame.js';
import { native } from './load.js';
import { pinCount } from './pins.js';

export interface Stats {
  /** Blocks of memory that this package allocated, in all threads. */
  readonly storages: number;
  /** Their bytes. */
  readonly bytes: number;
  /** Memory of others held by tensors: managed tensors, adopted and pinned buffers. */
  readonly imports: number;
  /** Managed tensors handed out whose deleter was not called yet. */
  readonly exports: number;
  /** Tickets for other threads that were posted and not redeemed yet. */
  readonly tickets: number;
  /** Bytes that this thread told its garbage collector about; memory shown by `.data` is counted by the runtime. */
  readonly reported: number;
  /** JavaScript buffers and deleters that this thread keeps for native code. */
  readonly pins: number;
  /** In debug mode: where what this thread holds and exported was made. */
  readonly live?: readonly Origin[];
}

let settle: (() => void) | null = null;

/** Called by a module that puts releases off for a moment: `stats` has them done first. */
export function beforeStats(action: () => void): void {
  settle = action;
}

/** Counts of live storages, imports, exports and tickets. */
export function stats(): Stats {
  const binding = native();
  if (settle !== null) settle();
  binding.readCounts();
  // By index: a patched iterator or subarray would be handed the frame.
  const count = (index: number): number => f64[SHAPE + index] as number;
  const counts: Stats = {
    storages: count(0),
    bytes: count(1),
    imports: count(2),
    exports: count(3),
    tickets: count(4),
    reported: count(5),
    pins: pinCount(),
  };
  if (!isDebug()) return counts;
  // Other threads may export meanwhile: ask again with more room until all fit.
  let places = new Float64Array(counts.exports + 64);
  for (binding.readTraces(places); (f64[NBYTES] as number) > places.length; binding.readTraces(places)) {
    places = new Float64Array(places.length * 2);
  }
  return { ...counts, live: liveOrigins(new Set(places)) };
}
