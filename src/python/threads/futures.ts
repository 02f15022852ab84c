/**
 * Python futures and coroutines as promises. No thread waits for them: a future calls a settler when it is done.
 * Coroutines run on one asyncio loop, which has a thread of its own and serves all JavaScript threads of the process.
 */

import { type AsyncOptions, signalOf } from '../../base/signal.js';
import { OutOfMemoryError } from '../../errors.js';
import { outsideScopes } from '../../storage/scoped.js';
import { binding } from '../binding.js';
import { wrap } from '../calls/operations.js';
import { PythonError } from '../error.js';
import { loadSource } from '../interpreter/source-module.js';
import { type PyObject, referenceOf } from '../objects/object.js';
import { ownMethods } from '../objects/proxy.js';
import { callAsync, newNumber, promiseFor, stopWaiting } from './async.js';
import SOURCE from './futures.py';

interface Helpers {
  watch(awaitable: PyObject, settle: PyObject): PyObject;
  discard(awaitable: PyObject): void;
  iterate(iterable: PyObject): PyObject | null;
  step(iterator: PyObject): PyObject;
  close(iterator: PyObject): PyObject;
}

let loaded: Helpers | null = null;

/** The Python module, which other Python code can import once this was called, and its functions. */
export function loadFutures(): Helpers {
  loaded ??= outsideScopes(() => {
    const { watch, discard, iterate, step, close } = loadSource('_dlpack_futures', SOURCE) as Helpers;
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

/** The promise of a Python future, coroutine or other awaitable. */
export async function awaitPython<T = PyObject>(awaitable: PyObject, options?: AsyncOptions): Promise<T> {
  return awaitWith(loadFutures().watch, awaitable, options);
}

/** The same with a Python function `watch(awaitable, settle)`, which returns a function that cancels the waiting. */
export async function awaitWith<T = PyObject>(
  watch: Helpers['watch'],
  awaitable: PyObject,
  options?: AsyncOptions,
): Promise<T> {
  referenceOf(awaitable);
  const signal = signalOf(options);
  if (signal?.aborted) {
    loadFutures().discard(awaitable);
    throw signal.reason;
  }
  let cancel: PyObject | null = null;
  // On another thread, because the cancel of some libraries waits for another process.
  const stop = () => void (cancel === null || callAsync(cancel).catch(() => {}));
  const { settler, promise, drop } = newSettler<T>(signal, stop);
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
async function* iterateAsync(iterable: PyObject): AsyncGenerator<unknown> {
  const { iterate, step, close } = loadFutures();
  const iterator = outsideScopes(() => iterate(iterable));
  if (iterator === null) {
    for (const element of iterable) yield element; // not yield*, which would ask for an asynchronous iterator again
    return;
  }
  try {
    for (;;) yield await awaitPython(step(iterator));
  } catch (error) {
    if (!(error instanceof PythonError && error.type === 'StopAsyncIteration')) throw error;
  } finally {
    await awaitPython(close(iterator));
  }
}

ownMethods[Symbol.asyncIterator] = function () {
  return iterateAsync(this);
};
