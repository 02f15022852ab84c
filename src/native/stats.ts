/**
 * What is alive: counts of the whole process, and in debug mode where it was made.
 *
 * @module
 */

import { isDebug, liveOrigins, type Origin } from './debug.js';
import { native } from './load.js';
import { pinCount } from './pins.js';
import { enter, leave, wire } from './wire.js';
import { CountsResult, TracesResult, WireHeader } from './wire-layout.js';

const { f64, u32 } = wire;

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
  const slot = enter(CountsResult.WORDS);
  u32[WireHeader.SLOT] = slot;
  binding.readCounts();
  leave(slot);
  const counts: Stats = {
    storages: f64[slot + CountsResult.STORAGES] as number,
    bytes: f64[slot + CountsResult.BYTES] as number,
    imports: f64[slot + CountsResult.IMPORTS] as number,
    exports: f64[slot + CountsResult.EXPORTS] as number,
    tickets: f64[slot + CountsResult.TICKETS] as number,
    reported: f64[slot + CountsResult.REPORTED] as number,
    pins: pinCount(),
  };
  return isDebug() ? { ...counts, live: liveOrigins(new Set(readTraces(counts.exports + 64))) } : counts;
}

/** The places where live exports were made. Other threads may export meanwhile: with more room until all fit. */
function readTraces(room: number): Float64Array {
  const places = new Float64Array(room);
  const slot = enter(TracesResult.WORDS);
  u32[WireHeader.SLOT] = slot;
  native().readTraces(places);
  leave(slot);
  const count = f64[slot + TracesResult.COUNT] as number;
  return count > room ? readTraces(room * 2) : places;
}
