/**
 * JavaScript functions that Python can call.
 *
 * Python holds a function by a number. Whichever side lets go last releases it: the number is forgotten when its Python
 * object is gone. A function that is passed again while that object lives is the same object to Python.
 *
 * @module
 */

import { ArgumentTypeError, BufferError } from '../errors.js';
import { pin } from '../native/pins.js';
import { binding } from './binding.js';
import { callForHandle, make, perform, setMakeCallable } from './cells.js';
import { PythonError } from './error.js';
import { FAILED, frame, Operation } from './frame.js';
import { isPyObject, type PyObject, referenceOf } from './object.js';
import { liveHandle, releaseHandle } from './reference.js';
import { setCauseOf, toError, toValue, wrapHandle } from './results.js';

const { u32 } = frame;

export type JavaScriptFunction = (...args: never[]) => unknown;

/** Functions, and what functions threw, by the number that Python has. */
const held = new Map<number, unknown>();
let lastNumber = 0;

/** Weak references of Python to the callables of functions. */
const callables = new WeakMap<JavaScriptFunction, PyObject>();

/** Handles of a new Python object that stands for a JavaScript value and keeps it alive, and of a weak reference to it. */
function hold(value: unknown, name: string): [object: number, weak: number] {
  const number = ++lastNumber;
  held.set(number, value);
  const made = binding().makeFunction(
    number,
    pin(() => held.delete(number)),
    name,
  );
  if (u32[FAILED] === 1) throw toError(made);
  return made as [number, number];
}

/** A handle of the Python callable of a function: the one that Python has, or a new one. */
function makeCallable(target: JavaScriptFunction): number {
  const known = callables.get(target);
  const alive = known === undefined ? 0 : callForHandle(referenceOf(known));
  if (alive !== 0) return alive;
  const [handle, weak] = hold(target, nameOf(target));
  callables.set(target, wrapHandle(weak));
  return handle;
}

function nameOf(target: JavaScriptFunction): string {
  const { name } = target as { name: unknown };
  return typeof name === 'string' && name !== '' ? name : 'anonymous';
}

/** A JavaScript function as a Python object, to keep and to release. Passing the function itself makes one too. */
export function callable(target: JavaScriptFunction): PyObject {
  if (isPyObject(target)) return target;
  if (typeof target !== 'function') throw new ArgumentTypeError('target', 'a JavaScript function', target);
  return wrapHandle(makeCallable(target));
}

/**
 * Runs a function for Python, on this thread. `request` is 0 when Python waits for the return of this call; else a thread
 * waits for an answer, now or later. `values` are kinds and values by turns, the last `pairs` of them names and values of
 * keywords. Throws only where no code can run any more; native code knows what to do then.
 */
export function onCall(number: number, request: number, pairs: number, ...values: unknown[]): unknown {
  const args = readArguments(pairs, values);
  try {
    const value = (held.get(number) as (...args: unknown[]) => unknown)(...args);
    if (!isPromise(value)) return give(request, value);
    if (request === 0) {
      throw new ArgumentTypeError(
        'the result of a JavaScript function that Python called on its thread',
        'a value, because nobody can wait for a promise here (a call inside of callAsync can)',
        value,
      );
    }
    value.then(
      (result) => give(request, result),
      (error) => refuse(request, error),
    );
    // Another call may run while this one waits: the promise may need it.
    if (!binding().postpone(request)) {
      throw new BufferError('Expected fewer calls of Python that wait for promises of JavaScript');
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
  let tuple: number;
  try {
    tuple = make(Operation.tuple, [value]);
  } catch (error) {
    return refuse(request, error);
  }
  return finish(request, tuple, false);
}

function refuse(request: number, error: unknown): number {
  let tuple: number;
  try {
    tuple = make(Operation.tuple, [toException(error)]);
  } catch {
    tuple = make(Operation.tuple, [textOf(error)]);
  }
  return finish(request, tuple, true);
}

/** The outcome for the thread that waits; or for the caller, negative after an error. */
function finish(request: number, tuple: number, failed: boolean): number {
  if (request === 0) return failed ? -tuple : tuple;
  binding().answer(request, tuple, failed);
  return 0;
}

/** The exception that a PythonError came from, or a new one that carries what was thrown. */
function toException(error: unknown): PyObject {
  if (error instanceof PythonError && isPyObject(error.exception) && referenceOf(error.exception).handle !== 0) {
    return error.exception;
  }
  const [handle, weak] = hold(error, 'error');
  releaseHandle(weak);
  const carrier = wrapHandle(handle) as PyObject;
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

/** What a JavaScript function threw, where that is what the exception stands for. */
function causeOf(exception: object): { cause: unknown } | undefined {
  try {
    const carrier = perform(Operation.getAttribute, referenceOf(exception), 'error');
    const number = binding().numberOf(liveHandle(referenceOf(carrier)));
    return held.has(number) ? { cause: held.get(number) } : undefined;
  } catch {
    return undefined; // somebody else's exception of that name
  }
}

/** Called once an interpreter runs. */
export function connectFunctions(): void {
  setMakeCallable(makeCallable);
  setCauseOf(causeOf);
}
