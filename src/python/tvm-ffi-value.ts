/**
 * Python objects as arguments of TVM-FFI functions. `dlpack/tvm-ffi` calls the method `Symbol.for('tvm_ffi.value')`, so neither
 * module imports the other.
 */

import { ArgumentTypeError } from '../errors.js';

/** A value from Python. */
// biome-ignore lint/suspicious/noExplicitAny: only Python knows the attributes of a Python object
type PyObject = any;

/** The names of two methods of every Python object. docs/guides/tvm-ffi.md specifies them. */
export const TVM_FFI_VALUE = Symbol.for('tvm_ffi.value');
const TVM_FFI_OBJECT = Symbol.for('tvm_ffi.object');

/**
 * Classifies an object: True for a tensor, False for a function that JavaScript can call, None for an object that only
 * Python's tvm_ffi could pass on. Otherwise returns the value to pass, most often an object of Python's tvm_ffi.
 */
const CONVERT = `
def convert(value):
    import sys
    ffi = sys.modules.get('tvm_ffi')
    if ffi is not None and isinstance(value, ffi.core.Object):
        return value
    if hasattr(type(value), '__dlpack__') or hasattr(type(value), '__dlpack_c_exchange_api__'):
        return True
    if ffi is None:
        return False if callable(value) else None
    value = ffi.convert(value)
    return getattr(value, '_tvm_ffi_cached_object', None) or value
`;

let convert: ((object: PyObject) => PyObject) | null = null;

/** The value that TVM-FFI receives for a Python object. `take` makes a Tensor from an object that is a tensor. */
export function tvmFfiValue(
  object: PyObject,
  importModule: (name: string) => PyObject,
  take: (object: PyObject) => unknown,
): unknown {
  if (convert === null) {
    const builtins = importModule('builtins');
    const names = builtins.dict();
    builtins.exec(CONVERT, names);
    convert = names.get('convert') as (object: PyObject) => PyObject;
  }
  const value = convert(object);
  if (value === true) return take(object);
  if (value === false) return (...args: unknown[]) => object(...args);
  if (value === null) {
    const expected = "a Python tensor or function, or, after py.import('tvm_ffi'), any Python object";
    throw new ArgumentTypeError('an argument', expected, object);
  }
  if (typeof value !== 'function') return value; // numbers and strings arrive as JavaScript values
  return { [TVM_FFI_OBJECT]: () => BigInt(value.__chandle__()) };
}
