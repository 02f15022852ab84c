/**
 * Python objects as arguments of TVM-FFI functions. `dlpack/tvm-ffi` calls the method `Symbol.for('tvm_ffi.value')`, so neither
 * module imports the other.
 */

import { ArgumentTypeError } from '../../errors.js';
import { outsideScopes } from '../../storage/scoped.js';
import { loadSource } from '../interpreter/source-module.js';
import type { ImportModule, PyObject } from '../objects/py-object.js';
import SOURCE from './tvm-ffi-value.py';

/** The names of two methods of every Python object. docs/guides/tvm-ffi-objects.md specifies them. */
export const TVM_FFI_VALUE = Symbol.for('tvm_ffi.value');
const TVM_FFI_OBJECT = Symbol.for('tvm_ffi.object');

let convert: ((object: PyObject) => PyObject) | null = null;

/** The value that TVM-FFI receives for a Python object. `take` makes a Tensor from an object that is a tensor. */
export function tvmFfiValue(
  object: PyObject,
  importModule: ImportModule,
  take: (object: PyObject) => unknown,
): unknown {
  convert ??= outsideScopes(
    () => loadSource(importModule, '_dlpack_tvm_ffi', SOURCE).convert as (object: PyObject) => PyObject,
  );
  const value = convert(object);
  if (value === true) return take(object);
  if (value === false) return (...args: unknown[]) => object(...args);
  if (value === null) {
    const expected = "a Python tensor or function, or, after py.import('tvm_ffi'), any Python object";
    throw new ArgumentTypeError('an argument', expected, object);
  }
  if (typeof value === 'string') {
    if (value.startsWith(':')) return value.slice(1);
    return { [TVM_FFI_OBJECT]: () => ({ type: Number(value[0]), bits: BigInt(value.slice(1)) }) };
  }
  if (typeof value !== 'function') return value; // integers and bytes
  return { [TVM_FFI_OBJECT]: () => BigInt(value.__chandle__()) };
}
