/**
 * Scopes: tensors that a function makes are disposed when it ends, except those that it returns.
 *
 * @module
 */

import { ArgumentTypeError } from './errors.js';
import { recordTensors, Tensor } from './tensor.js';

/** What a scope can dispose. */
export interface Releasable {
  dispose(): void;
}

/**
 * Runs a synchronous function and disposes every Tensor that it made, views, casts and imports too, except those in what it
 * returns: a Tensor, or arrays and plain objects with Tensors in them. In an outer scope those belong to the outer one.
 *
 * @example
 * ```ts
 * const mean = scope(() => x.astype('float64').slice([0, 10]).copy()); // two temporaries are released
 * ```
 */
export function scope<T>(action: () => T): T {
  if (typeof action !== 'function') throw new ArgumentTypeError('action', 'a function', action);
  const made: Tensor[] = [];
  const outer = recordTensors(made);
  let result: T;
  try {
    result = action();
  } catch (error) {
    recordTensors(outer);
    disposeAll(made, none, true);
    throw error;
  }
  recordTensors(outer);
  if (typeof (result as { then?: unknown } | null)?.then === 'function') {
    disposeAll(made, none, true);
    throw new ArgumentTypeError('action', 'a synchronous function', result, 'use scopeAsync(async (track) => ...)');
  }
  const kept = found(result);
  if (outer !== null) for (const tensor of made) if (kept.has(tensor)) outer.push(tensor);
  disposeAll(made, kept, false);
  return result;
}

/**
 * Runs an asynchronous function and disposes what it passed to `track`, except what is in its result. What other code makes
 * meanwhile is its own: that is why an asynchronous scope has to be told.
 */
export async function scopeAsync<T>(
  action: (track: <X extends Releasable>(value: X) => X) => Promise<T> | T,
): Promise<T> {
  if (typeof action !== 'function') throw new ArgumentTypeError('action', 'a function', action);
  const tracked: Releasable[] = [];
  let isOver = false;
  const track = <X extends Releasable>(value: X): X => {
    if (typeof value?.dispose !== 'function') {
      throw new ArgumentTypeError('value', 'something with a dispose() method', value);
    }
    // A late one, of work that nobody awaited, is disposed at once: the scope will not come by again.
    if (isOver) value.dispose();
    else tracked.push(value);
    return value;
  };
  let result: T;
  try {
    result = await action(track);
  } catch (error) {
    isOver = true;
    disposeAll(tracked, none, true);
    throw error;
  }
  isOver = true;
  disposeAll(tracked, found(result), false);
  return result;
}

const none: ReadonlySet<unknown> = new Set();

/** Everything in a result that could be kept: the value, and what arrays and plain objects hold. */
function found(result: unknown): ReadonlySet<unknown> {
  const seen = new Set<unknown>();
  const visit = (value: unknown): void => {
    if (typeof value !== 'object' || value === null || seen.has(value)) return;
    seen.add(value);
    if (value instanceof Tensor) return;
    const prototype: unknown = Object.getPrototypeOf(value);
    if (Array.isArray(value) || prototype === Object.prototype || prototype === null)
      Object.values(value).forEach(visit);
  };
  visit(result);
  return seen;
}

/** A producer's deleter may throw: the rest is disposed all the same, and the first error is thrown unless one is on its way. */
function disposeAll(values: readonly Releasable[], kept: ReadonlySet<unknown>, isQuiet: boolean): void {
  const errors: unknown[] = [];
  // The last first: views before what they lie over.
  for (let i = values.length - 1; i >= 0; i--) {
    const value = values[i] as Releasable;
    if (kept.has(value)) continue;
    try {
      value.dispose();
    } catch (error) {
      errors.push(error);
    }
  }
  if (errors.length > 0 && !isQuiet) throw errors[0];
}
