/**
 * Python objects as arguments of TVM-FFI functions. `dlpack/tvm-ffi` calls the method `Symbol.for('tvm_ffi.value')`, so neither
 * module imports the other.
 */

import { ArgumentTypeError } from '../../errors.js';
import { outsideScopes } from '../../storage/scoped.js';

/** A value from Python. */
// biome-ignore lint/suspicious/noExplicitAny: only Python knows the attributes of a Python object
type PyObject = any;

/** The names of two methods of every Python object. docs/guides/tvm-ffi-objects.md specifies them. */
export const TVM_FFI_VALUE = Symbol.for('tvm_ffi.value');
const TVM_FFI_OBJECT = Symbol.for('tvm_ffi.object');

/**
 * Classifies an object: True for a tensor, False for a function that JavaScript can call, None for an object that only
 * Python's tvm_ffi could pass on. Otherwise returns the value to pass, most often an object of Python's tvm_ffi. A string
 * follows a colon. A float, a pointer, a dtype or a device is the digit of its type in TVM-FFI and the decimal of its bits.
 * tvm_ffi.convert returns these values, and numbers and strings of other classes, as they are.
 */
const CONVERT = `
import sys, ctypes, numbers, struct
def plain(type, format, *fields):
    return f"{type}{int.from_bytes(struct.pack(format, *fields), 'little')}"
def convert(value):
    ffi = sys.modules.get('tvm_ffi')
    if ffi is not None and isinstance(value, ffi.core.Object):
        return value
    if hasattr(type(value), '__dlpack__') or hasattr(type(value), '__dlpack_c_exchange_api__'):
        return True
    if ffi is None:
        return False if callable(value) else None
    if isinstance(value, ffi.Device):
        return plain(6, '<ii', value.dlpack_device_type(), value.index)
    value = ffi.convert(value)
    value = getattr(value, '_tvm_ffi_cached_object', None) or value
    if hasattr(value, '__chandle__'):
        return value
    if isinstance(value, numbers.Integral):
        return int(value)
    if isinstance(value, numbers.Real):
        return plain(3, '<d', float(value))
    if isinstance(value, ctypes.c_void_p):
        return plain(4, '<Q', value.value or 0)
    if isinstance(value, ffi.dtype):
        return plain(5, '<BBH', value.type_code, value.bits, value.lanes)
    if isinstance(value, str):
        return ':' + value
    if isinstance(value, bytes):
        return memoryview(value).tobytes()
    return ffi.core._convert_to_opaque_object(value)
`;

let convert: ((object: PyObject) => PyObject) | null = null;

/** The value that TVM-FFI receives for a Python object. `take` makes a Tensor from an object that is a tensor. */
export function tvmFfiValue(
  object: PyObject,
  importModule: (name: string) => PyObject,
  take: (object: PyObject) => unknown,
): unknown {
  convert ??= outsideScopes(() => {
    const builtins = importModule('builtins');
    const names = builtins.dict();
    builtins.exec(CONVERT, names);
    return names.get('convert') as (object: PyObject) => PyObject;
  });
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
