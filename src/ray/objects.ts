/** Objects in Ray's object store. */

import { checkOptions, type OptionNames } from '../base/options.js';
import { ArgumentTypeError, isUsable } from '../errors.js';
import { node } from '../native/node-modules.js';
import { awaitWith, newSettler, signalOf } from '../python/futures.js';
import { callAsync, isPyObject, type PyArgument, type PyObject } from '../python/index.js';
import { taskError } from './error.js';
import { load } from './helpers.js';
import { toJavaScript } from './values.js';

const { setImmediate } = node.timers;

declare const VALUE: unique symbol;

/** Ray's own ObjectRef, with the type of the value. It can be passed to tasks and actors in place of the value. */
export interface ObjectRef<T = unknown> extends Disposable {
  readonly [VALUE]?: T;
  /** The identifier of the object. */
  hex(): string;
}

/** The values of references: of one, or of an array. */
export type Values<R> =
  R extends ObjectRef<infer T> ? T : R extends readonly unknown[] ? { -readonly [I in keyof R]: Values<R[I]> } : never;

export interface GetOptions {
  /** Stops the waiting and rejects with the reason of the signal. The task continues. */
  signal?: AbortSignal;
}

const optionNames: OptionNames<GetOptions> = { signal: true };

/** Copies a value into the object store. It is converted as arguments of Python functions are. */
export function put<T>(value: T): ObjectRef<T> {
  return load().helpers.put(value as PyArgument);
}

/**
 * As {@link put}, on another thread: the event loop goes on while Ray copies the value. Do not write into it meanwhile.
 */
export async function putAsync<T>(value: T): Promise<ObjectRef<T>> {
  return callAsync(load().helpers.put as unknown as PyObject, value as PyArgument);
}

/**
 * The value of an object, or the values of an array of objects. Arrays and tensors become read-only Tensors over the
 * memory of the object store, without a copy. The object stays in the store until the Tensor is disposed.
 */
export async function get<R extends ObjectRef | readonly ObjectRef[]>(
  reference: R,
  options: GetOptions = {},
): Promise<Values<R>> {
  checkOptions(options, optionNames, '{ signal: controller.signal }');
  if (isUsable(reference) && Array.isArray(reference)) return getAll(reference, options) as Promise<Values<R>>;
  return getOne(reference, options) as Promise<Values<R>>;
}

async function getOne(reference: PyObject, options: GetOptions): Promise<unknown> {
  checkReference(reference);
  const { helpers } = load();
  let value: unknown;
  try {
    value = await awaitWith(helpers.watch, reference, options);
  } catch (error) {
    throw taskError(error, helpers);
  }
  return toJavaScript(value, helpers, null);
}

/** How many values become JavaScript values before the event loop continues. */
const TURN = 64;
/** The same for references. For each of them this thread may have to wait while another thread holds the GIL. */
const REFERENCES = 8;
/** How many references one request takes to Python. */
const COLLECTED = 1024;

/** The values of many references. They share one promise, because a promise for each costs more than a small task. */
async function getAll(references: readonly PyObject[], options: GetOptions): Promise<unknown[]> {
  references.forEach(checkReference);
  const signal = signalOf(options);
  const { helpers } = load();
  signal?.throwIfAborted();
  const stop = () => void callAsync(helpers.stop, group).catch(() => {});
  const { settler, promise, drop } = newSettler<PyObject>(signal, stop);
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
      values.push(toJavaScript(value, helpers, null));
      if (values.length % TURN === 0) await new Promise(setImmediate);
    }
  } finally {
    list[Symbol.dispose]();
  }
  return values;
}

/** As {@link get}, but blocks this thread until the object exists. */
export function getSync<R extends ObjectRef | readonly ObjectRef[]>(reference: R): Values<R> {
  const { helpers } = load();
  for (const one of isUsable(reference) && Array.isArray(reference) ? reference : [reference]) checkReference(one);
  let value: unknown;
  try {
    value = helpers.get(reference);
  } catch (error) {
    throw taskError(error, helpers);
  }
  return toJavaScript(value, helpers, null) as Values<R>;
}

function checkReference(reference: unknown): void {
  if (!isPyObject(reference)) throw new ArgumentTypeError('reference', 'an ObjectRef', reference);
}
