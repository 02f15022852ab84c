/**
 * Python in the process: run its libraries and share tensors with them.
 *
 * @module
 */

export type { AsyncOptions } from '../base/signal.js';
export { type AsyncArguments, callAsync, callTensorAsync, type PyFunction } from './async.js';
export { PythonError } from './error.js';
export type { PythonOptions } from './find.js';
export type { PyCallback } from './functions.js';
export { type Python, python } from './interpreter.js';
export { type Keywords, kwargs, type PyFloat } from './keywords.js';
export {
  type CheckedPyObject,
  isPyObject,
  type PyArgument,
  type PyInstance,
  type PyObject,
  type PythonModules,
  type PyValue,
} from './object.js';
export type { TensorOptions, TensorSource } from './tensor.js';
export type { ToJSOptions } from './to-js.js';

import '../index.node.js';
