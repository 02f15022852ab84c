/**
 * Calls on another thread.
 *
 * @module
 */

import { isMainThread } from '../native/threads.js';
import { encode, type Prepared, Taken } from './cells.js';
import { FAILED, Kind, OPERATION, Operation, RESULT_HANDLE, u32, writeCell } from './frame.js';
import { Keywords } from './keywords.js';
import { decode, type PyArgument, prepareAll, python, referenceOf, release, send, toError } from './object.js';

interface Waiting {
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: unknown) => void;
  /** Takes the listener off the signal. */
  readonly forget: () => void;
}

const waiting = new Map<number, Waiting>();
let lastNumber = 0;

// biome-ignore lint/suspicious/noExplicitAny: a typed form of a Python function takes and returns what its author says
type AnyFunction = (...args: any[]) => any;

/** The arguments of a function, then keyword arguments and a signal, where they are wanted. */
type AsyncArguments<F extends AnyFunction> =
  | Parameters<F>
  | [...Parameters<F>, Keywords]
  | [...Parameters<F>, AbortSignal]
  | [...Parameters<F>, Keywords, AbortSignal];

/**
 * Calls a Python function on a thread of the pool: `await callAsync(torch.matmul, a, b)`. Keyword arguments and an
 * `AbortSignal` come last. Tensors stay alive until the call is done, disposed or not. The signal stops the waiting: a call
 * that runs goes on and its result is dropped, one that has not begun never does.
 */
export async function callAsync<F extends AnyFunction>(
  fn: F,
  ...args: AsyncArguments<F>
): Promise<Awaited<ReturnType<F>>> {
  referenceOf(fn);
  const rest: PyArgument[] = [...args];
  const signal = rest.at(-1) instanceof AbortSignal ? (rest.pop() as AbortSignal) : null;
  const keywords = rest.at(-1) instanceof Keywords ? (rest.pop() as Keywords) : null;
  signal?.throwIfAborted();
  const number = start([fn, ...rest], keywords);
  return new Promise<Awaited<ReturnType<F>>>((resolve, reject) => {
    const stop = () => {
      waiting.delete(number);
      writeCell(0, Kind.int, 0, number);
      python().abandon();
      reject(signal?.reason);
    };
    signal?.addEventListener('abort', stop, { once: true });
    const forget = () => signal?.removeEventListener('abort', stop);
    waiting.set(number, { resolve: resolve as (value: unknown) => void, reject, forget });
  });
}

/** Hands function and arguments to native code. Returns the number of the promise. */
function start(call: readonly PyArgument[], keywords: Keywords | null): number {
  const tuple = make(Operation.tuple, call);
  let dict: Taken | null = null;
  try {
    if (keywords !== null) dict = make(Operation.dict, Object.entries(keywords.values).flat());
  } catch (error) {
    release(tuple, true);
    throw error;
  }
  if (lastNumber === 0 && isMainThread) process.on('exit', () => python().leave());
  const number = ++lastNumber;
  encode(0, tuple);
  encode(1, dict);
  writeCell(2, Kind.int, 0, number);
  const failure = python().callAsync();
  if (u32[FAILED] === 1) throw toError(failure);
  return number;
}

function make(operation: number, values: readonly PyArgument[]): Taken {
  const ready: Prepared[] = prepareAll(values);
  const failure = send(operation, null, ready, 0);
  if (u32[FAILED] === 1) throw toError(failure);
  return new Taken(u32[RESULT_HANDLE] as number);
}

/** What native code left of a call: its value, or what describes its exception. From the event loop, on this thread. */
export function onSettle(text: unknown, message?: unknown, traceback?: unknown): void {
  const number = u32[OPERATION] as number;
  const promise = waiting.get(number);
  waiting.delete(number);
  promise?.forget();
  try {
    const value = decode(u32[FAILED] === 1 ? { type: text, message, traceback } : text);
    promise?.resolve(value);
  } catch (error) {
    promise?.reject(error);
  }
}
