/**
 * Signals stay the JavaScript runtime's: what a library took during a tick is put back at its end.
 *
 * @module
 */

import { binding } from './binding.js';

let isDue = false;

/** Called for every operation: checking all signals takes a few microseconds, so that happens once for a tick. */
export function keepSignalsLater(): void {
  if (isDue) return;
  isDue = true;
  binding().rememberSignals();
  queueMicrotask(keepSignals);
}

function keepSignals(): void {
  isDue = false;
  binding().keepSignals();
}
