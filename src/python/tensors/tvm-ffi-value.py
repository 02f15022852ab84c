# Run once, by tvm-ffi-value.ts. tvm_ffi.convert returns integers, strings and bytes of other classes as they are.
import ctypes, numbers, struct, sys

def plain(type, format, *fields):
    return f"{type}{int.from_bytes(struct.pack(format, *fields), 'little')}"

def convert(value):
    """True for a tensor, False for a function that JavaScript can call, None for an object that only Python's tvm_ffi could
    pass on. Otherwise the value to pass, most often an object of Python's tvm_ffi. A string follows a colon. A float, a
    pointer, a dtype or a device is the digit of its type in TVM-FFI and the decimal of its bits."""
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
