/**
 * Python futures and coroutines as promises. No thread waits for them: a future calls a settler when it is done.
 * Coroutines run on one asyncio loop, which has a thread of its own and serves all JavaScript threads of the process.
 *
 * Proxies iterate asynchronously, so what makes them is a parameter here. await.ts has what programs call.
 */

import { OutOfMemoryError } from '../../errors.js';
import { outsideScopes } from '../../storage/scoped.js';
import { binding } from '../binding.js';
import { PythonError } from '../error.js';
import { loadSource } from '../interpreter/source-module.js';
import type { ImportModule, PyObject, Wrap } from '../objects/py-object.js';
import SOURCE from './futures.py';
import { newNumber, promiseFor, stopWaiting } from './promises.js';

/** A Python function that calls `settle` when the awaitable is done. It returns a function that cancels the waiting. */
export type Watch = (awaitable: PyObject, settle: PyObject) => PyObject;

interface Helpers {
  watch: Watch;
  discard(awaitable: PyObject): void;
  iterate(iterable: PyObject): PyObject | null;
  step(iterator: PyObject): PyObject;
  close(iterator: PyObject): PyObject;
}

let loaded: Helpers | null = null;

/** The Python module, which other Python code can import once this was called, and its functions. */
export function loadFutures(importModule: ImportModule): Helpers {
  loaded ??= outsideScopes(() => {
    const { watch, discard, iterate, step, close } = loadSource(importModule, '_dlpack_futures', SOURCE) as Helpers;
    // Looked up once, because each lookup takes the GIL and leaves an object to the garbage collector.
    return { watch, discard, iterate, step, close };
  });
  return loaded;
}

/**
 * A promise, and the Python callable `settle(failed, value)` that settles it. If the signal aborts, the promise is
 * rejected with the reason, and `cancel` is called. `drop` ends the waiting.
 */
export function newSettler<T>(
  wrap: Wrap,
  signal: AbortSignal | null,
  cancel: () => void,
): { settler: PyObject; promise: Promise<T>; drop: () => void } {
  const number = newNumber();
  const handle = binding().makeSettler(number);
  if (handle === 0) throw new OutOfMemoryError('could not wait for a Python future');
  return {
    settler: wrap(handle),
    promise: promiseFor<T>(number, signal, cancel),
    drop: () => stopWaiting(number),
  };
}

/** The promise of an awaitable. If the signal aborts, `run` gets the function that cancels the waiting. */
export function promiseOf<T>(
  wrap: Wrap,
  watch: Watch,
  awaitable: PyObject,
  signal: AbortSignal | null = null,
  run: (cancel: PyObject) => void = () => {},
): Promise<T> {
  let cancel: PyObject | null = null;
  const stop = () => {
    if (cancel !== null) run(cancel);
  };
  const { settler, promise, drop } = newSettler<T>(wrap, signal, stop);
  promise.catch(() => {}); // if watch throws, nothing awaits the promise
  try {
    cancel = outsideScopes(() => watch(awaitable, settler));
    if (signal?.aborted) stop(); // the awaitable called JavaScript, which aborted
  } catch (error) {
    drop();
    throw error;
  } finally {
    settler[Symbol.dispose]();
  }
  // Only a signal needs the function. It keeps the future alive, and with it the result.
  const forget = () => cancel?.[Symbol.dispose]();
  if (signal === null) forget();
  else promise.then(forget, forget);
  return promise;
}

/** The elements of an asynchronous iterator, such as an async generator; of other objects their ordinary elements. */
export async function* iterateAsync(
  wrap: Wrap,
  importModule: ImportModule,
  iterable: PyObject,
): AsyncGenerator<unknown> {
  const { watch, iterate, step, close } = loadFutures(importModule);
  const iterator = outsideScopes(() => iterate(iterable));
  if (iterator === null) {
    for (const element of iterable) yield element; // not yield*, which would ask for an asynchronous iterator again
    return;
  }
  try {
    for (;;) yield await promiseOf(wrap, watch, step(iterator));
  } catch (error) {
    if (!(error instanceof PythonError && error.type === 'StopAsyncIteration')) throw error;
  } finally {
    await promiseOf(wrap, watch, close(iterator));
  }
}
