/** A Python deleter that calls JavaScript, which drops memory of other Python objects. Prints `ok` when all were dropped. */

import { fromDLPack, type Tensor } from 'dlpack';
import { exportManaged, importManaged } from 'dlpack/native';
import { python } from 'dlpack/python';

const py = python();
py.exec(`
import ctypes, numpy, weakref
Deleter = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
new_capsule = ctypes.pythonapi.PyCapsule_New
new_capsule.restype = ctypes.py_object
new_capsule.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
hook, kept, seen, refs = None, [], [], []
deleter = Deleter(lambda managed: hook())
class Producer:
    def __dlpack__(self, **options):
        memory, shape = (ctypes.c_float * 4)(1, 2, 3, 4), (ctypes.c_int64 * 1)(4)
        # data, device, ndim and dtype (float32), shape, strides, offset, context, deleter
        words = [ctypes.addressof(memory), 1, 1 | (2 | 32 << 8 | 1 << 16) << 32, ctypes.addressof(shape), 0, 0, 0,
                 ctypes.cast(deleter, ctypes.c_void_p).value]
        managed = (ctypes.c_uint64 * 8)(*words)
        kept.append((memory, shape, managed))
        return new_capsule(ctypes.addressof(managed), b'dltensor', None)
    def __dlpack_device__(self): return (1, 0)
def make():
    array = numpy.arange(64)
    refs.append(weakref.ref(array, seen.append))  # Python code that runs when the array is dropped
    return array
def set_hook(f):
    global hook
    hook = f
`);
const [make, makeProducer] = [py.eval('make'), py.eval('Producer')];
const others = Array.from({ length: 50 }, (): Tensor => {
  using array = make();
  using tensor = fromDLPack(array);
  return importManaged(exportManaged(tensor)); // another owner, which is released at once
});
py.eval('0'); // drops what was disposed
py.eval('set_hook')(() => others.pop()?.dispose());
for (let i = 0; i < 50; i++) {
  fromDLPack(makeProducer()).dispose();
  py.eval('0');
}
const seen = Number(py.eval('len(seen)'));
console.log(seen === 50 && others.length === 0 ? 'ok' : `${seen} of 50 dropped, ${others.length} left`);
