/**
 * Python futures and coroutines as promises. No thread waits for them: a future calls a settler when it is done.
 * Coroutines run on one asyncio loop, which has a thread of its own and serves all JavaScript threads of the process.
 */

import { checkOptions, type OptionNames } from '../base/options.js';
import { ArgumentTypeError, BufferError } from '../errors.js';
import { callAsync, newNumber, promiseFor, stopWaiting } from './async.js';
import { binding } from './binding.js';
import { PythonError } from './error.js';
import { importModule, type PyObject, referenceOf } from './object.js';
import { wrap } from './operations.js';
import { ownMethods } from './proxy.js';

/** Python code, run once in a module that all JavaScript threads share. */
const SOURCE = `
import asyncio, atexit, concurrent.futures, inspect, threading

lock = threading.Lock()
running = None
pending = {}

def run(loop, started):
    asyncio.set_event_loop(loop)
    loop.call_soon(started.set)
    while True:
        try:
            return loop.run_forever()
        except BaseException:
            pass  # a SystemExit in a coroutine leaves the loop, and the promise is rejected with it

def stop(loop, thread):
    loop.call_soon_threadsafe(loop.stop)
    thread.join(1)

def the_loop():
    global running
    with lock:
        if running is None:
            loop, started = asyncio.new_event_loop(), threading.Event()
            thread = threading.Thread(target=run, args=(loop, started), name='dlpack-asyncio', daemon=True)
            thread.start()
            started.wait()
            atexit.register(stop, loop, thread)
            running = loop
    return running

async def finish(awaitable):
    return await awaitable

steps = {}  # tasks that wait for the next element of an iterator
reasons = {}  # the errors of tasks that stop_steps cancels

async def step(iterator):
    task = asyncio.current_task()
    steps[task] = iterator
    try:
        return await type(iterator).__anext__(iterator)
    except asyncio.CancelledError:
        if task not in reasons:
            raise
        raise reasons[task] from None
    finally:
        del steps[task]
        reasons.pop(task, None)

async def cancel(tasks, error, seconds):
    for task in tasks:
        if task.cancel():
            reasons[task] = error
    await asyncio.wait(tasks, timeout=seconds)

def stop_steps(is_affected, error, seconds=5):
    """Ends the waiting for the next element of these iterators with an error. Waits until it has ended, but not longer
    than this time for a task that goes on, and twice this time for a loop that a coroutine blocks."""
    tasks = [task for task, iterator in list(steps.items()) if is_affected(iterator)]
    if tasks:
        try:
            asyncio.run_coroutine_threadsafe(cancel(tasks, error, seconds), the_loop()).result(2 * seconds)
        except concurrent.futures.TimeoutError:
            pass

def future_of(awaitable):
    if hasattr(awaitable, 'add_done_callback'):
        return awaitable
    if callable(getattr(type(awaitable), 'future', None)):
        return awaitable.future()
    if inspect.isawaitable(awaitable):
        return asyncio.run_coroutine_threadsafe(finish(awaitable), the_loop())
    raise TypeError(f'Expected a future, a coroutine or another awaitable but received {type(awaitable).__name__}')

def watch(awaitable, settle):
    """Calls settle(failed, value) when the awaitable is done. Returns a function that cancels it."""
    future = future_of(awaitable)
    key = object()
    def done(future):
        pending.pop(key, None)
        try:
            value = future.result()
        except BaseException as error:
            settle(True, error)
        else:
            settle(False, value)
    pending[key] = future  # nothing else may keep it
    try:
        if not asyncio.isfuture(future):
            future.add_done_callback(done)
            return future.cancel
        # Only the thread of its loop may use such a future.
        loop = future.get_loop()
        loop.call_soon_threadsafe(future.add_done_callback, done)
        return lambda: loop.call_soon_threadsafe(future.cancel)
    except BaseException:
        del pending[key]
        raise

def discard(awaitable):
    if inspect.iscoroutine(awaitable):
        awaitable.close()

def iterate(iterable):
    """The asynchronous iterator of an object; None for an object that only has an ordinary iterator."""
    method = getattr(type(iterable), '__aiter__', None)
    return None if method is None else method(iterable)

async def close(iterator):
    method = getattr(iterator, 'aclose', None)
    if method is not None:
        try:
            await method()
        except NotImplementedError:
            pass  # Ray's generators have the method, but only raise there
`;

interface Helpers {
  watch(awaitable: PyObject, settle: PyObject): PyObject;
  discard(awaitable: PyObject): void;
  iterate(iterable: PyObject): PyObject | null;
  step(iterator: PyObject): PyObject;
  close(iterator: PyObject): PyObject;
}

const MODULE = '_dlpack_futures';
let loaded: Helpers | null = null;

/** The Python module, which other Python code can import once this was called, and its functions. */
export function loadFutures(): Helpers {
  if (loaded !== null) return loaded;
  const modules = importModule('sys').modules;
  const { exec } = importModule('builtins');
  const made = importModule('types').ModuleType(MODULE);
  exec(SOURCE, made.__dict__);
  const { watch, discard, iterate, step, close } = modules.setdefault(MODULE, made) as Helpers;
  // Looked up once, because each lookup takes the GIL and leaves an object to the garbage collector.
  loaded = { watch, discard, iterate, step, close };
  return loaded;
}

export interface AsyncOptions {
  /** Cancels the future and rejects the promise with the reason of the signal. */
  signal?: AbortSignal;
}

const optionNames: OptionNames<AsyncOptions> = { signal: true };

/** The checked signal of options; null without a signal. */
export function signalOf(options: AsyncOptions | undefined): AbortSignal | null {
  const signal = options?.signal ?? null;
  if (signal === null || signal instanceof AbortSignal) return signal;
  throw new ArgumentTypeError('signal', 'an AbortSignal', signal);
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
  if (handle === 0) throw new BufferError('Out of memory: could not wait for a Python future');
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
  if (options !== undefined) checkOptions(options, optionNames, '{ signal: controller.signal }');
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
    cancel = watch(awaitable, settler);
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
  const iterator = iterate(iterable);
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
