/**
 * Signals belong to the JavaScript runtime: handlers that a library replaced during a tick are restored at the end of
 * the tick.
 */

import { queueMicrotask } from '../../base/primordials.js';
import { binding } from '../binding.js';

let isDue = false;

/** Called for every operation. Checking all signals takes a few microseconds, so it happens once per tick. */
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
