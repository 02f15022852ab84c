/** One file of kernels, one process: PyTorch's tensors through Python's tvm_ffi, and ours through dlpack/tvm-ffi. */

import { fileURLToPath } from 'node:url';
import { fromDLPack, Tensor, type TensorView } from 'dlpack';
import { PythonError, python } from 'dlpack/python';
import { loadModule } from 'dlpack/tvm-ffi';

interface Kernels {
  add_one(x: TensorView, y: TensorView): void;
  iota(length: number): Tensor;
}

const file = fileURLToPath(new URL('../kernels/kernels.so', import.meta.url));
const ours = loadModule<Kernels>(file);

const py = python();
const torch = py.import('torch');
const theirs = py.import('tvm_ffi').load_module(file); // the same library of TVM-FFI, the same code of the kernels

const x = Tensor.from([1, 2, 3], { dtype: 'float32' });
const t = torch.from_dlpack(x); // PyTorch's tensor over x's memory
const y = torch.empty(3);
theirs.add_one(t, y); // from Python, with PyTorch's tensors
console.log(String(y)); // tensor([2., 3., 4.])

ours.add_one(fromDLPack(y), x); // from JavaScript, with PyTorch's memory
console.log(x.toArray(), String(t)); // [ 3, 4, 5 ] tensor([3., 4., 5.])

try {
  theirs.fail('as asked');
} catch (error) {
  if (error instanceof PythonError) console.log(error.message); // ValueError: as asked
}

console.log(ours.iota(3).toArray()); // [ 0, 1, 2 ], allocated by this package, whatever Python uses
