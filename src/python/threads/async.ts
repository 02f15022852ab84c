/** Calls of Python functions on another thread. */

import { type AsyncOptions, signalOf } from '../../base/signal.js';
import { node } from '../../native/load/node-modules.js';
import { isDebug, recordObject } from '../../storage/debug.js';
import type { Tensor } from '../../tensor.js';
import { binding } from '../binding.js';
import { framesOf } from '../calls/caller.js';
import { Keywords } from '../calls/keywords.js';
import { makeError, startCall } from '../calls/operations.js';
import { type PyArgument, referenceOf } from '../objects/object.js';
import { type Reference, unpinReference } from '../objects/reference.js';
import { Operation, ValueKind } from '../wire-layout.js';
import { dropParts, toValue } from './carried.js';
import { newNumber, promiseFor, takeWaiting } from './promises.js';

const { AsyncResource } = node.asyncHooks;

/** The running calls, awaited or not: the references in their arguments, and the asynchronous context of the caller. */
const running = new Map<
  number,
  { readonly references: readonly Reference[]; readonly scope: InstanceType<typeof AsyncResource> }
>();

/** A Python function, in the form that `npx dlpack types` or the program declares. */
// biome-ignore lint/suspicious/noExplicitAny: the author of a typed form of a Python function chooses its types
export type PyFunction = (...args: any[]) => any;

/** The arguments of a function, optionally followed by keyword arguments. */
export type AsyncArguments<F extends PyFunction> = [...Parameters<F>, ...([] | [Keywords])];

/** The type of `callAsync`: a function, and the same function with options. */
export interface PyCallAsync {
  /** Calls a Python function on another thread. */
  <F extends PyFunction>(fn: F, ...args: AsyncArguments<F>): Promise<Awaited<ReturnType<F>>>;
  /**
   * Returns `callAsync` with options. When the signal aborts, a running call goes on and its result is dropped, but a call
   * that has not begun never starts.
   *
   * @param options - The signal that stops the waiting.
   */
  with(
    options: AsyncOptions,
  ): <F extends PyFunction>(fn: F, ...args: AsyncArguments<F>) => Promise<Awaited<ReturnType<F>>>;
}

/** As `PyCallAsync`, for results that all have one type. */
export interface PyCallAsyncTo<T> {
  /** Calls a Python function on another thread. */
  <F extends PyFunction>(fn: F, ...args: AsyncArguments<F>): Promise<T>;
  /**
   * Returns the function with options, as `callAsync.with` does.
   *
   * @param options - The signal that stops the waiting.
   */
  with(options: AsyncOptions): <F extends PyFunction>(fn: F, ...args: AsyncArguments<F>) => Promise<T>;
}

/**
 * Calls a Python function on a thread of the pool: `await callAsync(torch.matmul, a, b)`. Keyword arguments come last.
 * Options come before the call, because a plain object among the arguments is a dict:
 * `callAsync.with({ signal })(torch.matmul, a, b)`. Tensors stay alive until the call ends, even if they are disposed.
 *
 * @param fn - A Python function or any callable.
 * @param args - Its arguments, converted as in a synchronous call; `kwargs({ ... })` last.
 * @returns A promise of the result: a plain value, or a Python object.
 * @throws PythonError if the function raises. A call with a signal rejects with the signal's reason when it aborts.
 * @example
 * ```ts
 * import { callAsync, python } from 'dlpack/python';
 * console.log(await callAsync(python().import('math').factorial, 5)); // 120
 * ```
 */
export const callAsync = (async (fn: PyFunction, ...args: readonly PyArgument[]) =>
  begin(Operation.callAsync, fn, args, null)) as PyCallAsync;

callAsync.with = (options) => {
  const signal = signalOf(options);
  return async <F extends PyFunction>(fn: F, ...args: AsyncArguments<F>): Promise<Awaited<ReturnType<F>>> =>
    begin<Awaited<ReturnType<F>>>(Operation.callAsync, fn, args, signal);
};

/**
 * As `callAsync`, for a function that returns a tensor: `await callTensorAsync(model, x)`. The thread of the pool
 * imports it, so the event loop does not wait for Python, and no Python object is left over.
 *
 * @param fn - A Python function or any callable that returns a tensor.
 * @param args - As for `callAsync`.
 * @returns A promise of a tensor over Python's memory, without a copy.
 * @throws PythonError if the function raises, and what `fromDLPack` throws if its result is no tensor.
 * @example
 * ```ts
 * import { callTensorAsync, python } from 'dlpack/python';
 * const x = await callTensorAsync(python().import('numpy').arange, 3);
 * console.log(x.toArray()); // [0n, 1n, 2n]
 * ```
 */
export const callTensorAsync = (async (fn: PyFunction, ...args: readonly PyArgument[]) =>
  begin(Operation.callTensorAsync, fn, args, null)) as PyCallAsyncTo<Tensor>;

callTensorAsync.with = (options) => {
  const signal = signalOf(options);
  return async (fn, ...args) => begin(Operation.callTensorAsync, fn, args, signal);
};

/** Begins an asynchronous call. */
export function begin<T>(
  operation: number,
  fn: PyFunction,
  args: readonly PyArgument[],
  signal: AbortSignal | null,
): Promise<T> {
  const reference = referenceOf(fn);
  const rest = [...args];
  const keywords = rest.at(-1) instanceof Keywords ? (rest.pop() as Keywords) : null;
  signal?.throwIfAborted();
  const number = newNumber();
  const scope = new AsyncResource('dlpack.callAsync');
  running.set(number, { references: startCall(operation, reference, rest, keywords, number), scope });
  return promiseFor<T>(number, signal, () => {});
}

/** Runs a JavaScript function that Python called from an asynchronous call, in the context of that call. */
export function runInside<T>(number: number, action: () => T): T {
  const call = running.get(number);
  return call === undefined ? action() : call.scope.runInAsyncScope(action);
}

/**
 * Settles a call with its value, or with an exception when there is a type, a message and a traceback. Native code
 * calls this from the event loop, on this thread.
 */
export function onSettle(
  number: number,
  kind: number,
  value: unknown,
  type?: string,
  message?: string,
  traceback?: string,
): void {
  const promise = takeWaiting(number);
  running.get(number)?.references.forEach(unpinReference);
  running.delete(number);
  try {
    const exception = kind === ValueKind.handle ? (value as number) : 0;
    if (type !== undefined) throw makeError(type, message ?? '', traceback ?? '', exception, promise?.caller);
    if (promise === undefined && kind === ValueKind.tensor) return; // native code drops what is not taken
    if (promise === undefined && kind === ValueKind.list) {
      dropParts(value as readonly unknown[]);
      return;
    }
    const result = toValue(kind, value);
    if (isDebug() && kind === ValueKind.handle && promise !== undefined) {
      // The place where the program called the function, which is not on the stack here.
      recordObject(value as number, binding().objectBytes(value as number), framesOf(promise.caller).join('\n'));
    }
    promise?.resolve(result);
  } catch (error) {
    promise?.reject(error);
  }
}
