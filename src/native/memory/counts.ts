/** Counts of live native objects in the whole process, for `dlpack/debug`; the release of kept memory. */

import { forgetExports, isDebug } from '../../storage/debug.js';
import { type LiveCounts, memorySources } from '../../storage/memory-sources.js';
import { hasNativeMemory, native } from '../load/load.js';
import { pinCount } from './pins.js';

function count(): Partial<LiveCounts> {
  if (!hasNativeMemory()) return {};
  const [storages, bytes, imports, exports, tickets, reported, kept] = native().readCounts();
  return { storages, bytes, imports, exports, tickets, kept, reported, pins: pinCount() };
}

/** The trace numbers of live exports. Retries with more room until all fit, because other threads may export. */
function readTraces(room: number): Float64Array {
  const places = new Float64Array(room);
  const found = native().readTraces(places);
  return found > room ? readTraces(room * 2) : places;
}

/** Registers with the core. */
export function registerCounts(): void {
  memorySources.push({
    settle() {
      if (isDebug() && hasNativeMemory()) forgetExports(new Set(readTraces(64)));
    },
    count,
    empty(device) {
      if ((device === null || device.kind === 'cpu') && hasNativeMemory()) native().trim();
    },
  });
}
