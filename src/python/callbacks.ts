/**
 * Calls of JavaScript functions by Python.
 *
 * @module
 */

import { ArgumentTypeError, BufferError } from '../errors.js';
import { runInside } from './async.js';
import { binding } from './binding.js';
import { PythonError } from './error.js';
import { functionOf, type JavaScriptFunction, Thrown } from './functions.js';
import { isPyObject, type PyObject, referenceOf } from './object.js';
import { hold, toValue, wrap } from './operations.js';

/** A JavaScript function as a Python object, to keep and to release. Passing the function itself makes one too. */
export function callable(target: JavaScriptFunction): PyObject {
  if (isPyObject(target)) return target;
  if (typeof target !== 'function') throw new ArgumentTypeError('target', 'a JavaScript function', target);
  return wrap(hold(target));
}

/**
 * Runs a function for Python, on this thread. `request` is 0 when Python waits for the return of this call; else a thread
 * waits for an answer, now or later. `call` is the asynchronous call that runs on that thread, or 0. `values` are kinds and values by turns, the last `pairs` of them names and values of
 * keywords. Throws only where no code can run any more; native code knows what to do then.
 */
export function onCall(number: number, request: number, call: number, pairs: number, ...values: unknown[]): unknown {
  try {
    const args = readArguments(pairs, values);
    const value = runInside(call, () => functionOf(number)(...args));
    if (!isPromise(value)) return give(request, value);
    if (request === 0) {
      throw new ArgumentTypeError(
        'the result of a JavaScript function that Python called on its thread',
        'a value, because Python cannot wait for a promise here (a call inside of callAsync can)',
        value,
      );
    }
    value.then(
      (result) => give(request, result),
      (error) => refuse(request, error),
    );
    // Another call may run while this one waits: the promise may need it.
    if (!binding().postpone(request)) {
      throw new BufferError('Too many Python calls wait for JavaScript promises');
    }
    return 0;
  } catch (error) {
    return refuse(request, error);
  }
}

/** Keyword arguments are an object at the end. */
function readArguments(pairs: number, values: readonly unknown[]): unknown[] {
  const args: unknown[] = [];
  for (let i = 0; i < values.length; i += 2) args.push(toValue(values[i] as number, values[i + 1]));
  if (pairs === 0) return args;
  const keywords = Object.create(null) as Record<string, unknown>;
  const first = args.length - 2 * pairs;
  for (let i = first; i < args.length; i += 2) keywords[args[i] as string] = args[i + 1];
  return [...args.slice(0, first), keywords];
}

function isPromise(value: unknown): value is PromiseLike<unknown> {
  return typeof value === 'object' && value !== null && typeof (value as { then?: unknown }).then === 'function';
}

function give(request: number, value: unknown): number {
  let handle: number;
  try {
    handle = hold(value);
  } catch (error) {
    return refuse(request, error);
  }
  return finish(request, handle, false);
}

function refuse(request: number, error: unknown): number {
  let handle: number;
  try {
    handle = hold(toException(error));
  } catch {
    handle = hold(textOf(error));
  }
  return finish(request, handle, true);
}

/** The outcome for the thread that waits; or for the caller, negative after an error. */
function finish(request: number, handle: number, failed: boolean): number {
  if (request === 0) return failed ? -handle : handle;
  binding().answer(request, handle, failed);
  return 0;
}

/** The exception that a PythonError came from, or a new one that carries what was thrown. */
function toException(error: unknown): PyObject {
  if (error instanceof PythonError && isPyObject(error.exception) && referenceOf(error.exception).handle !== 0) {
    return error.exception;
  }
  const carrier = wrap(hold(new Thrown(error))) as PyObject;
  const exception = carrier.JavaScriptError(textOf(error));
  exception.error = carrier;
  return exception;
}

function textOf(error: unknown): string {
  try {
    return String(error);
  } catch {
    return 'what a JavaScript function threw has no text';
  }
}
