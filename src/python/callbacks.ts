/**
 * JavaScript functions that Python can call.
 *
 * Python holds a function by a number. Whichever side lets go last releases it: the number is forgotten when its Python
 * object is gone. A function that is passed again while that object lives is the same object to Python.
 *
 * @module
 */

import { ArgumentTypeError, BufferError } from '../errors.js';
import { BYTE_OFFSET, f64 as exchange } from '../native/frame.js';
import { pin } from '../native/pins.js';
import { encode, type Prepared, Reference, Taken } from './cells.js';
import { PythonError } from './error.js';
import {
  COUNT,
  cellHandle,
  cellKind,
  cellNumber,
  FAILED,
  f64,
  KEYWORDS,
  Kind,
  OPERATION,
  Operation,
  RESULT_HANDLE,
  RESULT_KIND,
  RESULT_NUMBER,
  u32,
  writeCell,
} from './frame.js';
import {
  decode,
  importModule,
  isPyObject,
  type PyObject,
  perform,
  prepare,
  python,
  referenceOf,
  release,
  send,
  toError,
  wrap,
} from './object.js';

export type JavaScriptFunction = (...args: never[]) => unknown;

/** Functions, and what functions threw, by the number that Python has. */
const held = new Map<number, unknown>();
let lastNumber = 0;

/** Weak references of Python to the callables of functions. */
const callables = new WeakMap<JavaScriptFunction, PyObject>();

/** A handle of a new Python object that stands for a JavaScript value and keeps it alive. */
function hold(value: unknown, name: string): Taken {
  const number = ++lastNumber;
  held.set(number, value);
  exchange[BYTE_OFFSET] = pin(() => held.delete(number));
  writeCell(0, Kind.int, 0, number);
  const failure = python().makeFunction(name);
  if (u32[FAILED] === 1) throw toError(failure);
  return new Taken(u32[RESULT_HANDLE] as number);
}

/** The Python callable of a function: the one that Python has, or a new one. */
export function prepareFunction(target: JavaScriptFunction): Taken {
  const known = callables.get(target);
  if (known !== undefined) {
    const failure = send(Operation.call, referenceOf(known), [], 0);
    if (u32[FAILED] === 1) throw toError(failure);
    if (u32[RESULT_KIND] === Kind.handle) return new Taken(u32[RESULT_HANDLE] as number);
  }
  const made = hold(target, nameOf(target));
  try {
    const makeWeak = referenceOf(importModule('weakref').ref);
    callables.set(target, decode(send(Operation.call, makeWeak, [new Reference(made.handle)], 0)));
  } catch (error) {
    release(made, true);
    throw error;
  }
  return made;
}

function nameOf(target: JavaScriptFunction): string {
  const { name } = target as { name: unknown };
  return typeof name === 'string' && name !== '' ? name : 'anonymous';
}

/** A JavaScript function as a Python object, to keep and to release. Passing the function itself makes one too. */
export function callable(target: JavaScriptFunction): PyObject {
  if (isPyObject(target)) return target;
  if (typeof target !== 'function') throw new ArgumentTypeError('target', 'a JavaScript function', target);
  return wrap(prepareFunction(target).handle);
}

/**
 * Runs a function for Python, on this thread. `request` is 0 when Python waits for the return of this call; else a thread
 * waits for an answer, now or later. Throws only where no code can run any more; native code knows what to do then.
 */
export function onCall(...texts: unknown[]): unknown {
  const number = u32[OPERATION] as number;
  const request = u32[RESULT_HANDLE] as number;
  const args = readArguments(texts);
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
    postpone(request);
    return null;
  } catch (error) {
    return refuse(request, error);
  }
}

/** Everything is read before anything else uses the frame. Keyword arguments are an object at the end. */
function readArguments(texts: readonly unknown[]): unknown[] {
  const count = u32[COUNT] as number;
  const pairs = u32[KEYWORDS] as number;
  const values: unknown[] = [];
  let at = 0;
  for (let i = 0; i < count; i++) {
    const kind = cellKind(i);
    if (kind === Kind.handle) {
      const handle = cellHandle(i);
      writeCell(i, Kind.none, 0, 0); // native code releases what was not taken
      values.push(wrap(handle));
    } else if (kind === Kind.string || kind === Kind.bytes) values.push(texts[at++]);
    else if (kind === Kind.bigint) values.push(BigInt(texts[at++] as string));
    else if (kind === Kind.none) values.push(null);
    else values.push(kind === Kind.bool ? cellNumber(i) === 1 : cellNumber(i));
  }
  u32[FAILED] = 0;
  if (pairs === 0) return values;
  const keywords = Object.create(null) as Record<string, unknown>;
  for (let i = count - 2 * pairs; i < count; i += 2) keywords[values[i] as string] = values[i + 1];
  return [...values.slice(0, count - 2 * pairs), keywords];
}

function isPromise(value: unknown): value is PromiseLike<unknown> {
  return typeof value === 'object' && value !== null && typeof (value as { then?: unknown }).then === 'function';
}

function give(request: number, value: unknown): unknown {
  let ready: Prepared;
  try {
    ready = prepare(value);
  } catch (error) {
    return refuse(request, error);
  }
  return finish(request, ready, 0);
}

function refuse(request: number, error: unknown): unknown {
  let ready: Prepared;
  try {
    ready = toException(error);
  } catch {
    ready = textOf(error);
  }
  return finish(request, ready, 1);
}

/** Leaves the outcome in cell 0, for the caller or for the thread that waits. */
function finish(request: number, ready: Prepared, failed: number): unknown {
  const text = encode(0, ready);
  u32[FAILED] = failed;
  if (request === 0) return text;
  u32[RESULT_HANDLE] = request;
  python().answer(text);
  return null;
}

/** Another call may run while this one waits: the promise may need it. */
function postpone(request: number): void {
  u32[RESULT_HANDLE] = request;
  python().postpone();
  if (u32[FAILED] === 1) throw new BufferError('Expected fewer calls of Python that wait for promises of JavaScript');
}

/** The exception that a PythonError came from, or a new one that carries what was thrown. */
function toException(error: unknown): Prepared {
  if (error instanceof PythonError && isPyObject(error.exception)) {
    const reference = referenceOf(error.exception);
    if (reference.handle !== 0) return reference;
  }
  const carrier = wrap(hold(error, 'error').handle);
  const exception = carrier.JavaScriptError(textOf(error));
  exception.error = carrier;
  return referenceOf(exception);
}

function textOf(error: unknown): string {
  try {
    return String(error);
  } catch {
    return 'what a JavaScript function threw has no text';
  }
}

/** What a JavaScript function threw, where that is what the exception stands for. */
export function causeOf(exception: object): { cause: unknown } | undefined {
  try {
    const carrier = perform(Operation.getAttribute, referenceOf(exception), ['error']);
    writeCell(0, Kind.handle, referenceOf(carrier).handle, 0);
    python().numberOf();
    const number = f64[RESULT_NUMBER] as number;
    return held.has(number) ? { cause: held.get(number) } : undefined;
  } catch {
    return undefined; // somebody else's exception of that name
  }
}
