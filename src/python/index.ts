/**
 * Python in the process: run its libraries and share tensors with them.
 *
 * @module
 */

export type { AsyncOptions } from '../base/signal.js';
export type { PyCallback } from './calls/functions.js';
export { type Keywords, kwargs, type PyFloat } from './calls/keywords.js';
export { PythonError } from './error.js';
export type { PythonOptions } from './interpreter/find.js';
export { type Python, python } from './interpreter/interpreter.js';
export {
  type CheckedPyObject,
  isPyObject,
  type PyArgument,
  type PyInstance,
  type PyObject,
  type PythonModules,
  type PyValue,
} from './objects/object.js';
export type { TensorOptions, TensorSource } from './tensors/conversion.js';
export {
  type AsyncArguments,
  callAsync,
  callTensorAsync,
  type PyCallAsync,
  type PyCallAsyncTo,
  type PyFunction,
} from './threads/async.js';
export type { ToJSOptions } from './values/to-js.js';

import '../index.node.js';
