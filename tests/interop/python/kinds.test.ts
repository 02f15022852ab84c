/** Imports with the signature of the previous import, with JavaScript that imports other tensors in between. */

import { fromDLPack, Tensor } from 'dlpack';
import { exportManaged, releaseManaged } from 'dlpack/native';
import { equal } from '../../assert.js';
import { testWith } from '../../harness.js';
import { probe, py } from './available.js';

const torch = probe('torch');
const numpy = probe('numpy');
const layoutOf = ({ shape, strides, dtype, isReadOnly }: Tensor): unknown => [shape, strides, dtype, isReadOnly];

/** Leaves another description in the wire. */
function exportAnother(): void {
  const other = Tensor.from(new Int16Array(4)).copy();
  releaseManaged(exportManaged(other));
  other.dispose();
}

testWith(torch.missing || numpy.missing, 'a function that Python calls takes tensors meanwhile', () => {
  const make = py.eval('lambda torch, between: (between(), torch.zeros(2, 3))[1]');
  const takes: Record<string, () => void> = {
    'of another kind': () => fromDLPack(torch.module.zeros(7)).dispose(),
    'without a number': () => fromDLPack(numpy.module.zeros([8, 9])).dispose(),
    both: () => {
      fromDLPack(numpy.module.zeros([8, 9])).dispose();
      fromDLPack(torch.module.zeros(7)).dispose();
    },
    none: () => {},
  };
  for (const [name, between] of Object.entries(takes)) {
    const first = fromDLPack(torch.module.zeros(2, 3));
    exportAnother();
    const second = py.callTensor(make, torch.module, between);
    equal(layoutOf(second), layoutOf(first), name);
    equal(layoutOf(fromDLPack(torch.module.zeros(2, 3))), layoutOf(first), name);
    equal(fromDLPack(torch.module.zeros(7)).shape, [7], name);
  }
});

testWith(torch.missing || numpy.missing, 'a finalizer of the object that the tensor came from takes others', () => {
  // A type with PyTorch's exchange table, whose objects end before their tensors.
  py.exec(`
import ctypes, torch
get = ctypes.pythonapi.PyCapsule_GetPointer
get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
new = ctypes.pythonapi.PyCapsule_New
new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
name = b"dlpack_exchange_api"  # not copied
Table = ctypes.c_void_p * 7
table = Table.from_address(get(torch.Tensor.__dlpack_c_exchange_api__, name))
From = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.c_void_p)
take = From(table[3])
relay = From(lambda self, out: take(self.tensor, out))
own = Table(table[0], None, table[2], ctypes.cast(relay, ctypes.c_void_p), *table[4:])
class Noisy:
    __dlpack_c_exchange_api__ = new(ctypes.addressof(own), name, None)
    def __init__(self): self.tensor = torch.zeros(2, 3)
    def __del__(self): Noisy.call()
`);
  const { Noisy } = py.import('__main__');
  let calls = 0;
  Noisy.call = () => {
    calls++;
    fromDLPack(numpy.module.zeros([8, 9])).dispose();
    fromDLPack(torch.module.zeros(7)).dispose();
  };
  for (let i = 0; i < 3; i++) {
    const first = fromDLPack(torch.module.zeros(2, 3));
    exportAnother();
    const second = py.callTensor(Noisy);
    equal(layoutOf(second), layoutOf(first));
  }
  equal(calls, 3);
});
