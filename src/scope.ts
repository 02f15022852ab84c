/** Scopes: when a function ends, the tensors that it made are disposed, except those that it returns. */

import { ArgumentTypeError } from './errors.js';
import { recordTensors, Tensor } from './tensor.js';

/** A value that a scope can dispose. */
export interface Releasable {
  dispose(): void;
}

/**
 * Runs a synchronous function and disposes every Tensor that it made, including views, casts and imports. Tensors in
 * its result stay alive: a returned Tensor, or Tensors in returned arrays and plain objects. In a nested scope the
 * outer scope takes these over.
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
  let kept: ReadonlySet<unknown>;
  try {
    result = action();
    if (typeof (result as { then?: unknown } | null)?.then === 'function') {
      throw new ArgumentTypeError('action', 'a synchronous function', result, 'use scopeAsync(async (track) => ...)');
    }
    kept = found(result); // may call getters, which may throw
  } catch (error) {
    recordTensors(outer);
    disposeAll(made, none, true);
    throw error;
  }
  recordTensors(outer);
  if (outer !== null) for (const tensor of made) if (kept.has(tensor)) outer.push(tensor);
  disposeAll(made, kept, false);
  return result;
}

/**
 * Runs an asynchronous function and disposes the values that it passed to `track`, except those in its result. Other
 * code may make tensors while the function waits, so an asynchronous scope does not track them by itself.
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
    // Work that the function did not await may call `track` after the scope has ended. Dispose such a value at once.
    if (isOver) value.dispose();
    else tracked.push(value);
    return value;
  };
  let result: T;
  let kept: ReadonlySet<unknown>;
  try {
    result = await action(track);
    kept = found(result); // may call getters, which may throw
  } catch (error) {
    isOver = true;
    disposeAll(tracked, none, true);
    throw error;
  }
  isOver = true;
  disposeAll(tracked, kept, false);
  return result;
}

const none: ReadonlySet<unknown> = new Set();

/** All values in a result: the value itself, and the contents of arrays and plain objects. */
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

/**
 * A producer's deleter may throw. The other values are disposed all the same, and then the first error is thrown,
 * unless `isQuiet` because another error is already being thrown.
 */
function disposeAll(values: readonly Releasable[], kept: ReadonlySet<unknown>, isQuiet: boolean): void {
  const errors: unknown[] = [];
  // In reverse order: views before the tensors they were made from.
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
