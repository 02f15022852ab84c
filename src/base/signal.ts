/** The option `signal` of a call that returns a promise. */

import { ArgumentTypeError, isA } from '../errors.js';
import { checkOptions, type OptionNames } from './options.js';

/** How to stop waiting for a call. */
export interface AsyncOptions {
  /** Stops the waiting: the promise is rejected with the reason of the signal. Without one, nothing stops it. */
  signal?: AbortSignal;
}

const optionNames: OptionNames<AsyncOptions> = { signal: true };

/** The checked signal of options; null without a signal. */
export function signalOf(options: AsyncOptions | undefined): AbortSignal | null {
  if (options === undefined) return null;
  checkOptions(options, optionNames, '{ signal: controller.signal }');
  const { signal } = options; // read once, because a getter may return different values
  checkSignal(signal);
  return signal ?? null;
}

/** Throws for an option `signal` that is no signal. */
export function checkSignal(signal: unknown): asserts signal is AbortSignal | undefined {
  if (signal === undefined || isA(signal, AbortSignal)) return;
  throw new ArgumentTypeError('signal', 'an AbortSignal', signal);
}

/** A promise that is rejected as soon as the signal aborts. The work behind `promise` goes on. */
export function untilAborted<T>(promise: Promise<T>, signal: AbortSignal | null): Promise<T> {
  if (signal === null) return promise;
  return new Promise((resolve, reject) => {
    const stop = () => reject(signal.reason);
    if (signal.aborted) stop();
    signal.addEventListener('abort', stop, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', stop));
  });
}
