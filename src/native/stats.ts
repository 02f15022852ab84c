/** Counts of live objects in the whole process and, in debug mode, where they were made; the release of kept memory. */

import { isDebug, liveOrigins, type Origin } from '../storage/debug.js';
import { unmapKept } from './kept-blocks.js';
import { native } from './load.js';
import { pinCount } from './pins.js';
import { enter, request, wire } from './wire.js';
import { CountsResult, TracesResult } from './wire-layout.js';

const { f64 } = wire;

export interface Stats {
  /** Blocks of memory that this package allocated, on all threads. */
  readonly storages: number;
  /** The bytes of these blocks. */
  readonly bytes: number;
  /** Foreign memory that tensors hold: managed tensors, adopted and pinned buffers. */
  readonly imports: number;
  /** Managed tensors that were handed out and whose deleter has not been called yet, and NumPy arrays of such memory. */
  readonly exports: number;
  /** Tickets for other threads that were posted but not opened yet. */
  readonly tickets: number;
  /** Bytes of released large blocks that wait for new tensors, on all threads. See {@link trim}. */
  readonly kept: number;
  /** Bytes that this thread reported to its garbage collector. The runtime itself counts memory shown by `.data`. */
  readonly reported: number;
  /** JavaScript buffers and deleters that this thread keeps for native code. */
  readonly pins: number;
  /** In debug mode: where the storages and exports of this thread were made. */
  readonly live?: readonly Origin[];
}

let settle: (() => void) | null = null;

/** Sets a function that performs delayed releases. `stats` calls it before counting. */
export function beforeStats(action: () => void): void {
  settle = action;
}

/** Counts of live storages, imports, exports and tickets. */
export function stats(): Stats {
  const binding = native();
  if (settle !== null) settle();
  const slot = enter(CountsResult.WORDS);
  request(slot, () => binding.readCounts());
  const counts: Stats = {
    storages: f64[slot + CountsResult.STORAGES] as number,
    bytes: f64[slot + CountsResult.BYTES] as number,
    imports: f64[slot + CountsResult.IMPORTS] as number,
    exports: f64[slot + CountsResult.EXPORTS] as number,
    tickets: f64[slot + CountsResult.TICKETS] as number,
    kept: f64[slot + CountsResult.KEPT] as number,
    reported: f64[slot + CountsResult.REPORTED] as number,
    pins: pinCount(),
  };
  return isDebug() ? { ...counts, live: liveOrigins(new Set(readTraces(counts.exports + 64))) } : counts;
}

/**
 * Returns the kept memory of released tensors to the system, and returns how many bytes that was. Host blocks of 1 MiB or
 * more wait for new tensors of about their size, 256 MiB of them at most (`DLPACK_REUSE_BYTES`). After a second in which no
 * block was used, the package returns them by itself. `stats().kept` counts their bytes.
 */
export function trim(): number {
  return unmapKept(native(), false).bytes;
}

/** The trace numbers of live exports. Retries with more room until all fit, because other threads may export. */
function readTraces(room: number): Float64Array {
  const places = new Float64Array(room);
  const slot = enter(TracesResult.WORDS);
  request(slot, () => native().readTraces(places));
  const count = f64[slot + TracesResult.COUNT] as number;
  return count > room ? readTraces(room * 2) : places;
}
