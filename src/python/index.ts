/**
 * Python in the process: run its libraries and share tensors with them.
 *
 * @module
 */

export { callAsync } from './async.js';
export { PythonError } from './error.js';
export type { PythonOptions } from './find.js';
export type { JavaScriptFunction } from './functions.js';
export type { AsyncOptions } from './futures.js';
export { type Python, python } from './interpreter.js';
export { type Keywords, kwargs, type PyFloat } from './keywords.js';
export { isPyObject, type PyArgument, type PyObject } from './object.js';
export type { TensorOptions, TensorSource } from './tensor.js';

import '../index.node.js';
