/** Promises that native code settles from the event loop, by their numbers. */

import { binding } from '../binding.js';
import { captureCaller } from '../calls/caller.js';

/** What waits for a number. */
interface Waiting {
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
  /** Where the program began to wait. */
  readonly caller: Error;
  /** Removes the listener from the signal. */
  readonly forget: () => void;
}

const waiting = new Map<number, Waiting>();
let lastNumber = 0;

/** A number for a promise that native code settles. */
export function newNumber(): number {
  return ++lastNumber;
}

/** The promise with this number. If the signal aborts, it is rejected with the reason, and `cancel` is called. */
export function promiseFor<T>(number: number, signal: AbortSignal | null, cancel: () => void): Promise<T> {
  const caller = captureCaller();
  return new Promise<T>((resolve, reject) => {
    const stop = () => {
      stopWaiting(number);
      reject(signal?.reason);
      cancel();
    };
    signal?.addEventListener('abort', stop, { once: true });
    const forget = () => signal?.removeEventListener('abort', stop);
    waiting.set(number, { resolve: resolve as (value: unknown) => void, reject, caller, forget });
    if (signal?.aborted) stop(); // a getter among the arguments aborted it
  });
}

/** The promise with this number no longer keeps the process alive, and its outcome is dropped. */
export function stopWaiting(number: number): void {
  waiting.get(number)?.forget();
  waiting.delete(number);
  binding().abandon(number);
}

/** What waits for the number, which is settled now; undefined if nothing waits any more. */
export function takeWaiting(number: number): Waiting | undefined {
  const found = waiting.get(number);
  waiting.delete(number);
  found?.forget();
  return found;
}
