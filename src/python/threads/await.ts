/** Promises of Python futures and coroutines, for programs. */

import { type AsyncOptions, signalOf } from '../../base/signal.js';
import { wrap } from '../calls/operations.js';
import { importModule, type PyObject, referenceOf } from '../objects/object.js';
import { callAsync } from './async.js';
import { loadFutures, promiseOf, type Watch } from './futures.js';

/** The promise of a Python future, coroutine or other awaitable. */
export async function awaitPython<T = PyObject>(awaitable: PyObject, options?: AsyncOptions): Promise<T> {
  return awaitWith(loadFutures(importModule).watch, awaitable, options);
}

/** The same with another Python function than asyncio's. */
export async function awaitWith<T = PyObject>(watch: Watch, awaitable: PyObject, options?: AsyncOptions): Promise<T> {
  referenceOf(awaitable);
  const signal = signalOf(options);
  if (signal?.aborted) {
    loadFutures(importModule).discard(awaitable);
    throw signal.reason;
  }
  // On another thread, because the cancel of some libraries waits for another process.
  return promiseOf<T>(wrap, watch, awaitable, signal, (cancel) => void callAsync(cancel).catch(() => {}));
}
