/** NumPy in the process: the same memory on both sides. */

import { fromDLPack, Tensor } from 'dlpack';
import { kwargs, python } from 'dlpack/python';

const py = python();
const np = py.import('numpy');

const x = Tensor.from(
  [
    [1, 2, 3],
    [4, 5, 6],
  ],
  { dtype: 'float32' },
);
const a = np.from_dlpack(x); // NumPy sees x's memory
a.fill(7);
console.log(x.get(0, 0)); // 7

const y = fromDLPack(np.arange(6, kwargs({ dtype: 'int64' }))); // y is NumPy's memory
console.log(y.toArray()); // [ 0n, 1n, 2n, 3n, 4n, 5n ]
