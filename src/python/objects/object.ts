/** What programs do with Python objects besides what their proxies do. */

import { ArgumentTypeError, ArgumentValueError } from '../../errors.js';
import type { Descriptor } from '../../storage/descriptor.js';
import type { ForeignRequest } from '../../storage/foreign.js';
import type { Tensor } from '../../tensor.js';
import { consume, perform, performTensor } from '../calls/operations.js';
import { Operation } from '../wire-layout.js';
import type { PyObject } from './py-object.js';
import { findReference, type Reference } from './reference.js';

export type { PyObject };

/** What every Python object has, in declarations that `npx dlpack types` makes. */
export interface PyInstance extends Disposable {
  /** Of a tensor, which `fromDLPack` takes. */
  readonly __dlpack__: PyObject;
  /** The device of a tensor. */
  readonly __dlpack_device__: PyObject;
  /** Iterates as Python does. */
  [Symbol.iterator](): Iterator<PyValue>;
}

/** A Python object of which the declarations say nothing. It is not `any`: convert it with `py.toJS` or `fromDLPack`. */
export interface PyValue extends PyInstance {
  (...args: PyArgument[]): PyValue;
  readonly [name: string]: PyValue;
}

/** Modules that `py.import` knows by their names. `npx dlpack types` adds some. */
// biome-ignore lint/suspicious/noEmptyInterface: declarations of programs add to it
export interface PythonModules {}

/**
 * A value that can be passed to Python: null, booleans, numbers, bigints, strings, Uint8Arrays, PyObjects, Tensors,
 * functions, arrays (as lists), Sets, Maps and plain objects (as dicts), and keyword arguments at the end of a call.
 */
export type PyArgument = PyObject;

declare const checked: unique symbol;

/** A Python object that {@link isPyObject} has recognised. Like every {@link PyObject} it has the attributes that Python knows. */
export interface CheckedPyObject {
  /** Marks the type. It does not exist at run time. */
  readonly [checked]: 'python';
  (...args: PyArgument[]): PyObject;
  [attribute: string]: PyObject;
  /** Of a tensor, which `fromDLPack` takes. */
  __dlpack__: PyObject;
  /** The device of a tensor. */
  __dlpack_device__: PyObject;
  /** Iterates as Python does. */
  [Symbol.iterator](): Iterator<PyObject>;
  /** Gives the reference to the object back to Python. */
  [Symbol.dispose](): void;
}

/**
 * Tells whether a value is a Python object.
 *
 * @param value - Anything.
 * @returns True for one that belongs to the Python of this process, also if it was released.
 * @example
 * ```ts
 * import { isPyObject, python } from 'dlpack/python';
 * console.log(isPyObject(python().import('math')), isPyObject({})); // true false
 * ```
 */
export function isPyObject(value: unknown): value is CheckedPyObject {
  return findReference(value) !== null;
}

export function referenceOf(object: PyObject): Reference {
  const reference = findReference(object);
  if (reference === null) throw new ArgumentTypeError('object', 'a Python object', object);
  return reference;
}

/** The tensor of a Python object; null for anything else. */
export function takeObject(source: object, request: ForeignRequest | null): Descriptor | null {
  const reference = findReference(source);
  return reference === null ? null : consume(reference, request);
}

/** `fromDLPack(callable(...args))` in one step, without the object in between. */
export function callTensor(callable: PyObject, args: PyArgument[]): Tensor {
  return performTensor(referenceOf(callable), args);
}

/** Python's `object[key]`. */
export function getItem(object: PyObject, key: PyArgument): PyObject {
  return perform(Operation.getItem, referenceOf(object), null, [key]);
}

/** Python's `object[key] = value`. */
export function setItem(object: PyObject, key: PyArgument, value: PyArgument): void {
  perform(Operation.setItem, referenceOf(object), null, [key, value]);
}

/** Imports a module. */
export function importModule(name: string): PyObject {
  if (typeof name !== 'string') throw new ArgumentTypeError('name', 'the name of a module', name);
  // Native code would import the part before it.
  if (name.includes('\0')) throw new ArgumentValueError('name', 'the name of a module without a NUL character', name);
  return perform(Operation.import, null, name);
}
