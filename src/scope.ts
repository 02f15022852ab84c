/** Scopes: when a function ends, the tensors and Python objects that it made are disposed, except those that it returns. */

import { ArgumentTypeError } from './errors.js';
import { collectScoped } from './storage/scoped.js';
import { asyncDisposeSymbol, disposeSymbol } from './storage/storage.js';
import { Tensor } from './tensor.js';

/** A value that a scope can dispose, such as a Tensor, a file or a Python object. */
export type Releasable =
  | {
      /** Gives the memory back. */
      dispose(): void;
    }
  | Disposable;

/** A value that an asynchronous scope can dispose: also one that has to wait for its end. */
export type ReleasableAsync = Releasable | AsyncDisposable;

/** Hands a value to a scope, which disposes it at its end, and returns the value. */
export type Track<R = Releasable> = <X extends R>(value: X) => X;

type Dispose = () => unknown;

/** The function that disposes a value; null if there is none. The symbol comes first: `dispose` of a Python object is Python's. */
function disposerOf(value: unknown): Dispose | null {
  const held = value as { [disposeSymbol]?: Dispose; dispose?: Dispose } | null | undefined;
  const dispose = held?.[disposeSymbol] ?? held?.dispose;
  return typeof dispose === 'function' ? () => dispose.call(value) : null;
}

/** As `disposerOf`, but a value that can wait for its end does. */
function asyncDisposerOf(value: unknown): Dispose | null {
  const dispose = (value as { [asyncDisposeSymbol]?: Dispose } | null | undefined)?.[asyncDisposeSymbol];
  return typeof dispose === 'function' ? () => dispose.call(value) : disposerOf(value);
}

/** The values that a function passes to `track`. */
class Tracked {
  readonly values: unknown[] = [];
  isOver = false;

  constructor(private readonly find: (value: unknown) => Dispose | null) {}

  readonly track = <X>(value: X): X => {
    const dispose = this.find(value);
    if (dispose === null) throw new ArgumentTypeError('value', 'something with a dispose() method', value);
    // Work that the function did not await may call `track` after the scope has ended. Dispose such a value at once.
    if (this.isOver) dispose();
    else this.values.push(value);
    return value;
  };

  /** The functions that dispose the values, the last value first: views before the tensors they were made from. */
  end(kept: ReadonlySet<unknown>): Dispose[] {
    this.isOver = true;
    const left = this.values.filter((value) => !kept.has(value)).reverse();
    return left.map((value) => this.find(value) as Dispose);
  }
}

/**
 * Runs a synchronous function and disposes every Tensor that it made, including views, casts and imports, and every
 * Python object that it got, except modules. Those in its result stay alive: the result itself, or the contents of
 * returned arrays, Maps, Sets and plain objects. In a nested scope the outer scope takes these over. Other values, such
 * as files, are disposed if the function passes them to `track`.
 *
 * @param action - The function. Its argument `track` also takes values that a scope does not see, and returns them.
 * @returns What the function returns.
 * @throws ArgumentTypeError if the action is no function, or returns a promise. What the action throws is thrown again,
 *   after everything was disposed.
 *
 * @example
 * ```ts
 * import { scope, Tensor } from 'dlpack';
 * const x = Tensor.arange(20, 'float32');
 * const part = scope(() => x.astype('float64').slice([0, 10]).copy()); // two temporaries are released
 * console.log(part.size, x.isDisposed); // 10 false
 * ```
 */
export function scope<T>(action: (track: Track) => T): T {
  if (typeof action !== 'function') throw new ArgumentTypeError('action', 'a function', action);
  const made: object[] = [];
  const tracked = new Tracked(disposerOf);
  const outer = collectScoped(made);
  let result: T;
  let kept: ReadonlySet<unknown>;
  try {
    result = action(tracked.track);
    if (typeof (result as { then?: unknown } | null)?.then === 'function') {
      throw new ArgumentTypeError('action', 'a synchronous function', result, 'use scopeAsync(async (track) => ...)');
    }
    kept = found(result); // may call getters, which may throw
  } catch (error) {
    collectScoped(outer);
    runAll([...tracked.end(none), ...disposersOf(made, none)], true);
    throw error;
  }
  collectScoped(outer);
  if (outer !== null) for (const value of made) if (kept.has(value)) outer.push(value);
  runAll([...tracked.end(kept), ...disposersOf(made, kept)], false);
  return result;
}

/**
 * Runs an asynchronous function and disposes the values that it passed to `track`, except those in its result. It waits
 * for values that have `[Symbol.asyncDispose]`. Other code may make tensors and get Python objects while the function
 * waits, so an asynchronous scope does not track them by itself.
 *
 * @param action - The function. It passes what the scope shall dispose to its argument `track`, which returns the
 *   value.
 * @returns A promise of what the function returns.
 * @throws ArgumentTypeError if the action is no function. What the action throws is thrown again, after everything was
 *   disposed.
 * @example
 * ```ts
 * import { scopeAsync, Tensor } from 'dlpack';
 * const sum = await scopeAsync(async (track) => {
 *   const x = track(Tensor.from([1, 2, 3]));
 *   await Promise.resolve(); // other work
 *   return x.get(0) + x.get(2);
 * }); // x was disposed
 * console.log(sum); // 4
 * ```
 */
export async function scopeAsync<T>(action: (track: Track<ReleasableAsync>) => Promise<T> | T): Promise<T> {
  if (typeof action !== 'function') throw new ArgumentTypeError('action', 'a function', action);
  const tracked = new Tracked(asyncDisposerOf);
  let result: T;
  let kept: ReadonlySet<unknown>;
  try {
    result = await action(tracked.track);
    kept = found(result); // may call getters, which may throw
  } catch (error) {
    await runEach(tracked.end(none), true);
    throw error;
  }
  await runEach(tracked.end(kept), false);
  return result;
}

const none: ReadonlySet<unknown> = new Set();

/** All values in a result: the value itself, and the contents of arrays, Maps, Sets and plain objects: all that `toJS` makes. */
function found(result: unknown): ReadonlySet<unknown> {
  const seen = new Set<unknown>();
  const visit = (value: unknown): void => {
    if ((typeof value !== 'object' && typeof value !== 'function') || value === null || seen.has(value)) return;
    seen.add(value);
    if (typeof value === 'function' || value instanceof Tensor) return; // a Python object is a function
    if (value instanceof Map || value instanceof Set) {
      for (const entry of value.entries()) entry.forEach(visit);
      return;
    }
    const prototype: unknown = Object.getPrototypeOf(value);
    if (Array.isArray(value) || prototype === Object.prototype || prototype === null)
      Object.values(value).forEach(visit);
  };
  visit(result);
  return seen;
}

/** The functions that dispose what a function made, the last value first. */
function disposersOf(made: readonly object[], kept: ReadonlySet<unknown>): Dispose[] {
  return made
    .filter((value) => !kept.has(value))
    .reverse()
    .map((value) => disposerOf(value) as Dispose);
}

/**
 * A producer's deleter may throw. The other values are disposed all the same, and then the first error is thrown,
 * unless `isQuiet` because another error is already being thrown.
 */
function runAll(disposers: readonly Dispose[], isQuiet: boolean): void {
  const errors: unknown[] = [];
  for (const dispose of disposers) {
    try {
      dispose();
    } catch (error) {
      errors.push(error);
    }
  }
  if (errors.length > 0 && !isQuiet) throw errors[0];
}

/** As `runAll`, one after the other. */
async function runEach(disposers: readonly Dispose[], isQuiet: boolean): Promise<void> {
  const errors: unknown[] = [];
  for (const dispose of disposers) {
    try {
      await dispose();
    } catch (error) {
      errors.push(error);
    }
  }
  if (errors.length > 0 && !isQuiet) throw errors[0];
}
