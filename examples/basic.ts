/** One memory, three owners: a tensor, a view of it, and C by address. */

import { Tensor } from 'dlpack';
import { exportManaged, importManaged } from 'dlpack/native';

const x = Tensor.from(
  [
    [1, 2, 3],
    [4, 5, 6],
  ],
  { dtype: 'float32' },
); // native memory, ready to be shared
const y = x.transpose(); // another owner of the same memory
y.set(2, 1, 60);
console.log(x.get(1, 2)); // 60
const address = exportManaged(x); // a real DLManagedTensorVersioned* for C
const z = importManaged(address); // and back: ownership taken over
console.log(z.sharesMemory(x), z); // true, and the values
