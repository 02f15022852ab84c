/**
 * What is alive: counts of the whole process, and in debug mode where it was made.
 *
 * @module
 */

import { isDebug, liveOrigins, type Origin } from './debug.js';
import { f64, NBYTES, SHAPE } from './frame.js';
import { native } from './load.js';

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
  /** In debug mode: where what this thread holds and exported was made. */
  readonly live?: readonly Origin[];
}

/** Counts of live storages, imports, exports and tickets. */
export function stats(): Stats {
  const binding = native();
  binding.readCounts();
  const [storages, bytes, imports, exports, tickets, reported] = f64.subarray(SHAPE) as unknown as number[];
  const counts = { storages, bytes, imports, exports, tickets, reported } as Stats;
  if (!isDebug()) return counts;
  const places = new Float64Array(counts.exports + 64);
  binding.readTraces(places);
  return { ...counts, live: liveOrigins(new Set(places.subarray(0, Math.min(f64[NBYTES] as number, places.length)))) };
}
