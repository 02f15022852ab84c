/** Calls of JavaScript functions from Python. */

import { ArgumentTypeError, BufferError, textOf } from '../../errors.js';
import { WireHeader } from '../../native/wire/wire-layout.js';
import { inScope } from '../../storage/scoped.js';
import { binding } from '../binding.js';
import { PythonError } from '../error.js';
import { isPyObject, type PyObject, referenceOf } from '../objects/object.js';
import { runInside } from '../threads/async.js';
import { toValue } from '../threads/carried.js';
import { Operation } from '../wire-layout.js';
import { functionOf, type PyCallback, Thrown } from './functions.js';
import { makeHandle, perform, wrap } from './operations.js';

/**
 * Makes a Python object for a JavaScript function, which the program can keep and release. Passing the function itself
 * makes such an object, too.
 *
 * @param target - The function.
 * @returns A Python callable, which keeps the function alive.
 * @throws ArgumentTypeError for anything but a function.
 */
export function callable(target: PyCallback): PyObject {
  if (isPyObject(target)) return target;
  if (typeof target !== 'function') throw new ArgumentTypeError('target', 'a JavaScript function', target);
  return inScope(wrap(makeHandle(target)));
}

/**
 * Runs a function for Python, on this thread. `request` is 0 when Python waits for this call to return. Otherwise
 * another thread waits for an answer, now or later. `call` is the asynchronous call on that thread, or 0. `values`
 * alternates kinds and values; the last `pairs` of them are names and values of keyword arguments. Throws only when no
 * more JavaScript can run, which native code handles.
 */
export function onCall(number: number, request: number, call: number, pairs: number, ...values: unknown[]): unknown {
  try {
    const args = readArguments(pairs, values);
    const value = runInside(call, () => functionOf(number)(...args));
    if (!isPromise(value)) return finish(request, makeHandle(value), false);
    if (request === 0) {
      throw new ArgumentTypeError(
        'the result of a JavaScript function that Python called on its thread',
        'a value, because Python cannot wait for a promise here (a call inside of callAsync can)',
        value,
      );
    }
    Promise.resolve(value)
      .then((result) => finish(request, makeHandle(result), false))
      .catch((error) => refuse(request, error));
    // Let another call run while this one waits, because the promise may depend on it.
    if (!binding().postpone(request)) {
      throw new BufferError('Too many Python calls wait for JavaScript promises');
    }
    return 0;
  } catch (error) {
    return refuse(request, error);
  }
}

/** Passes keyword arguments as an object at the end. */
function readArguments(pairs: number, values: readonly unknown[]): unknown[] {
  const args: unknown[] = [];
  for (let i = 0; i < values.length / 2; i++) {
    args[i] = toValue(values[2 * i] as number, values[2 * i + 1]);
    WireHeader.setTaken(i + 1); // native code releases the others when this function throws
  }
  if (pairs === 0) return args;
  const keywords = Object.create(null) as Record<string, unknown>;
  const first = args.length - 2 * pairs;
  for (let i = first; i < args.length; i += 2) keywords[args[i] as string] = args[i + 1];
  return [...args.slice(0, first), keywords];
}

function isPromise(value: unknown): value is PromiseLike<unknown> {
  return typeof value === 'object' && value !== null && typeof (value as { then?: unknown }).then === 'function';
}

function refuse(request: number, error: unknown): number {
  let handle: number;
  try {
    handle = makeHandle(toException(error));
  } catch {
    handle = makeHandle(textOf(error));
  }
  return finish(request, handle, true);
}

/** Reports the outcome to the waiting thread, or returns it to the caller, negative after an error. */
function finish(request: number, handle: number, failed: boolean): number {
  if (request === 0) return failed ? -handle : handle;
  binding().answer(request, handle, failed);
  return 0;
}

function isException(object: PyObject): boolean {
  return object instanceof (perform(Operation.import, null, 'builtins') as PyObject).BaseException;
}

/** A Python exception itself, that of a PythonError, or a new exception that carries the thrown value. */
function toException(error: unknown): PyObject {
  const found = error instanceof PythonError ? error.exception : error;
  if (isPyObject(found) && referenceOf(found).handle !== 0 && (found !== error || isException(found))) return found;
  const carrier = wrap(makeHandle(new Thrown(error))) as PyObject;
  const exception = carrier.JavaScriptError(textOf(error));
  exception.error = carrier;
  return exception;
}
