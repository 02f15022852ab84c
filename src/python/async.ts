/** Calls of Python functions on another thread. */

import { node } from '../native/node-modules.js';
import { binding } from './binding.js';
import { Keywords } from './keywords.js';
import { type PyArgument, referenceOf } from './object.js';
import { makeError, startCall, toValue } from './operations.js';
import { type Reference, unpinReference } from './reference.js';
import { ValueKind } from './wire-layout.js';

const { AsyncResource } = node.asyncHooks;

interface Waiting {
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
  /** Removes the listener from the signal. */
  readonly forget: () => void;
}

const waiting = new Map<number, Waiting>();
/** The running calls, awaited or not: the references in their arguments, and the asynchronous context of the caller. */
const running = new Map<
  number,
  { readonly references: readonly Reference[]; readonly scope: InstanceType<typeof AsyncResource> }
>();
let lastNumber = 0;

// biome-ignore lint/suspicious/noExplicitAny: the author of a typed form of a Python function chooses its types
type AnyFunction = (...args: any[]) => any;

/** The arguments of a function, optionally followed by keyword arguments and a signal. */
type AsyncArguments<F extends AnyFunction> = [...Parameters<F>, ...AsyncExtras];
type AsyncExtras = [] | [Keywords] | [AbortSignal] | [Keywords, AbortSignal];

/**
 * Calls a Python function on a thread of the pool: `await callAsync(torch.matmul, a, b)`. Keyword arguments and an
 * `AbortSignal` come last. Tensors stay alive until the call ends, even if they are disposed. The signal only stops the
 * waiting: a running call goes on and its result is dropped, but a call that has not begun never starts.
 */
export async function callAsync<F extends AnyFunction>(
  fn: F,
  ...args: AsyncArguments<F>
): Promise<Awaited<ReturnType<F>>> {
  const reference = referenceOf(fn);
  const rest: PyArgument[] = [...args];
  const signal = rest.at(-1) instanceof AbortSignal ? (rest.pop() as AbortSignal) : null;
  const keywords = rest.at(-1) instanceof Keywords ? (rest.pop() as Keywords) : null;
  signal?.throwIfAborted();
  const number = newNumber();
  const scope = new AsyncResource('dlpack.callAsync');
  running.set(number, { references: startCall(reference, rest, keywords, number), scope });
  return promiseFor<Awaited<ReturnType<F>>>(number, signal, () => {});
}

/** A number for a promise that native code settles. */
export function newNumber(): number {
  return ++lastNumber;
}

/** The promise with this number. If the signal aborts, it is rejected with the reason, and `cancel` is called. */
export function promiseFor<T>(number: number, signal: AbortSignal | null, cancel: () => void): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    const stop = () => {
      stopWaiting(number);
      reject(signal?.reason);
      cancel();
    };
    signal?.addEventListener('abort', stop, { once: true });
    const forget = () => signal?.removeEventListener('abort', stop);
    waiting.set(number, { resolve: resolve as (value: unknown) => void, reject, forget });
    if (signal?.aborted) stop(); // a getter among the arguments aborted it
  });
}

/** The promise with this number no longer keeps the process alive, and its outcome is dropped. */
export function stopWaiting(number: number): void {
  waiting.get(number)?.forget();
  waiting.delete(number);
  binding().abandon(number);
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
  const promise = waiting.get(number);
  running.get(number)?.references.forEach(unpinReference);
  running.delete(number);
  waiting.delete(number);
  promise?.forget();
  try {
    const exception = kind === ValueKind.handle ? (value as number) : 0;
    if (type !== undefined) throw makeError(type, message ?? '', traceback ?? '', exception);
    const result = toValue(kind, value);
    promise?.resolve(result);
  } catch (error) {
    promise?.reject(error);
  }
}
