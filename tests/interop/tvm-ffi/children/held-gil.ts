/**
 * Python calls a JavaScript function through TVM-FFI and keeps the GIL, which `ctypes.PyDLL` does. The function runs Python
 * code. If an operation took the GIL that its thread holds already, it would wait for ever. Prints `ok`.
 */

import { Tensor } from 'dlpack';
import { python } from 'dlpack/python';
import { loadLibrary, registerGlobalFunc } from 'dlpack/tvm-ffi';

const py = python();
py.exec(`
import ctypes
class Bytes(ctypes.Structure):
    _fields_ = [('data', ctypes.c_char_p), ('size', ctypes.c_size_t)]
def call(path, name):
    library = ctypes.PyDLL(path)
    handle = ctypes.c_void_p()
    key = Bytes(name, len(name))
    assert library.TVMFFIFunctionGetGlobal(ctypes.byref(key), ctypes.byref(handle)) == 0
    result = (ctypes.c_int64 * 2)()
    assert library.TVMFFIFunctionCall(handle, None, 0, result) == 0
    return result[1]
def size(tensor):
    return tensor.shape[0]
`);
const { call, size } = py.import('__main__');
const x = Tensor.from([1, 2, 3]);
registerGlobalFunc('test.held', () => Number(py.eval('40 + 2')) + Number(size(x)));
const path = loadLibrary();
const found = [1, 2, 3].map(() => Number(call(path, new TextEncoder().encode('test.held'))));
console.log(found.every((value) => value === 45) && size(x) === 3 ? 'ok' : found);
