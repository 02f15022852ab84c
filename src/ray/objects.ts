/** Objects in Ray's object store. */

import { type AsyncOptions, signalOf } from '../base/signal.js';
import { ArgumentTypeError, isUsable } from '../errors.js';
import { node } from '../native/load/node-modules.js';
import { wrap } from '../python/calls/operations.js';
import { callAsync, isPyObject, type PyArgument, type PyObject } from '../python/index.js';
import { awaitWith } from '../python/threads/await.js';
import { newSettler } from '../python/threads/futures.js';
import { takeJS } from '../python/values/to-js.js';
import { taskError } from './error.js';
import { adoptActor } from './handle.js';
import { load } from './helpers.js';
import type { ObjectRef } from './object-ref.js';

const { setImmediate } = node.timers;

/** The values of references: of one, or of an array. */
export type Values<R> =
  R extends ObjectRef<infer T> ? T : R extends readonly unknown[] ? { -readonly [I in keyof R]: Values<R[I]> } : never;

/**
 * Copies a value into the object store. It is converted as arguments of Python functions are. Another thread copies it:
 * do not write into it meanwhile.
 *
 * @param value - A tensor, or any other argument of a Python function. It is copied.
 * @returns A promise of the reference.
 * @throws ArgumentTypeError for a value that has no form in Python, LoadError without Python or Ray, and PythonError if
 *   Ray refuses it.
 * @example
 * ```ts no-run: needs Ray
 * import { Tensor } from 'dlpack';
 * import * as ray from 'dlpack/ray';
 * const images = await ray.put(Tensor.zeros([64, 224, 224, 3], 'float32'));
 * ```
 */
export async function put<T>(value: T): Promise<ObjectRef<T>> {
  return callAsync(load().helpers.put as unknown as PyObject, value as PyArgument);
}

/**
 * Copies a value into the object store as {@link put} does, but blocks this thread until Ray has copied it.
 *
 * @param value - As for {@link put}.
 * @returns The reference.
 * @throws As `put` does.
 */
export function putSync<T>(value: T): ObjectRef<T> {
  return load().helpers.put(value as PyArgument);
}

/**
 * Returns the value of an object, or the values of an array of objects. Arrays and tensors become read-only Tensors
 * over the memory of the object store, without a copy. The object stays in the store until the Tensor is disposed. When
 * the signal aborts, the task goes on.
 *
 * @param reference - One reference, or an array of them.
 * @param options - The signal that stops the waiting.
 * @returns A promise of the value, or of the values in the order of the references.
 * @throws ArgumentTypeError for anything but references, and LoadError without Python or Ray.
 * @throws PythonError if a task threw; its cause is a RemoteError if it threw in JavaScript. An aborted signal rejects
 *   with its reason.
 * @example
 * ```ts no-run: needs Ray
 * import { Tensor } from 'dlpack';
 * import * as ray from 'dlpack/ray';
 * const x = await ray.get(await ray.put(Tensor.zeros([3], 'float32')));
 * console.log(x.isReadOnly); // true
 * ```
 */
export async function get<R extends ObjectRef | readonly ObjectRef[]>(
  reference: R,
  options: AsyncOptions = {},
): Promise<Values<R>> {
  signalOf(options);
  if (isUsable(reference) && Array.isArray(reference)) return getAll(reference, options) as Promise<Values<R>>;
  return getOne(reference, options) as Promise<Values<R>>;
}

async function getOne(reference: PyObject, options: AsyncOptions): Promise<unknown> {
  checkReference(reference);
  const { helpers } = load();
  let value: unknown;
  try {
    value = await awaitWith(helpers.watch, reference, options);
  } catch (error) {
    throw taskError(error, helpers);
  }
  return takeJS(value, [], adoptActor);
}

/** How many values become JavaScript values before the event loop continues. */
const TURN = 64;
/** The same for references. For each of them this thread may have to wait while another thread holds the GIL. */
const REFERENCES = 8;
/** How many references one request takes to Python. */
const COLLECTED = 1024;

/** The values of many references. They share one promise, because a promise for each costs more than a small task. */
async function getAll(references: readonly PyObject[], options: AsyncOptions): Promise<unknown[]> {
  references.forEach(checkReference);
  const signal = signalOf(options);
  const { helpers } = load();
  signal?.throwIfAborted();
  const stop = () => void callAsync(helpers.stop, group).catch(() => {});
  const { settler, promise, drop } = newSettler<PyObject>(wrap, signal, stop);
  let group: PyObject;
  const count = references.length;
  try {
    group = helpers.Group(count, settler);
    // All at once, because the program may change the array or dispose the references before the values arrive.
    for (let i = 0; i < count; i += COLLECTED) helpers.collect(group, references.slice(i, i + COLLECTED));
  } catch (error) {
    drop();
    throw taskError(error, helpers);
  } finally {
    settler[Symbol.dispose]();
  }
  let isSettled = false;
  const settled = promise.finally(() => {
    isSettled = true;
  });
  settled.catch(() => {}); // awaited below, after the references were added
  let list: PyObject;
  try {
    for (let i = 0; i < count && !isSettled; i += REFERENCES) {
      if (i > 0) await new Promise(setImmediate);
      helpers.add(group, i, i + REFERENCES);
    }
    list = await settled;
  } catch (error) {
    throw taskError(error, helpers);
  } finally {
    group[Symbol.dispose](); // the group keeps the values alive
  }
  const values: unknown[] = [];
  try {
    for (const value of list) {
      values.push(takeJS(value, [], adoptActor));
      if (values.length % TURN === 0) await new Promise(setImmediate);
    }
  } finally {
    list[Symbol.dispose]();
  }
  return values;
}

/**
 * Returns values as {@link get} does, but blocks this thread until the objects exist.
 *
 * @param reference - One reference, or an array of them.
 * @returns The value, or the values in the order of the references.
 * @throws As `get` does.
 */
export function getSync<R extends ObjectRef | readonly ObjectRef[]>(reference: R): Values<R> {
  const { helpers } = load();
  for (const one of isUsable(reference) && Array.isArray(reference) ? reference : [reference]) checkReference(one);
  let value: unknown;
  try {
    value = helpers.get(reference);
  } catch (error) {
    throw taskError(error, helpers);
  }
  return takeJS(value, [], adoptActor) as Values<R>;
}

function checkReference(reference: unknown): void {
  if (!isPyObject(reference)) throw new ArgumentTypeError('reference', 'an ObjectRef', reference);
}
