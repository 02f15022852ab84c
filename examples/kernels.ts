/** Kernels compiled for TVM-FFI (examples/kernels), called with tensors. */

import { fileURLToPath } from 'node:url';
import { Tensor, type TensorView } from 'dlpack';
import { loadModule, TVMFFIError } from 'dlpack/tvm-ffi';

/** As dlpack types writes it. */
interface Kernels {
  add_one(x: TensorView, y: TensorView): void;
  sum_rows(matrix: TensorView, sums: TensorView): void;
  iota(length: number): Tensor;
  fail(message: string): void;
}

const kernels = loadModule<Kernels>(fileURLToPath(new URL('../kernels/kernels.so', import.meta.url)));

const x = Tensor.from([1, 2, 3], { dtype: 'float32' });
const y = Tensor.empty([3], 'float32');
kernels.add_one(x, y);
console.log(y.toArray()); // [ 2, 3, 4 ]

const matrix = kernels.iota(6).reshape([2, 3]); // memory that the kernel allocated through this package
const sums = new Float32Array(3);
kernels.sum_rows(matrix.transpose(), Tensor.wrap(sums)); // strides as they are; JavaScript memory lent for the call
console.log([...sums]); // [ 3, 5, 7 ]

try {
  kernels.fail('as asked');
} catch (error) {
  if (error instanceof TVMFFIError) console.log(error.kind, error.message); // ValueError as asked
}
