/** Prints tensors inside of other values. */

import { Tensor } from 'dlpack';

const x = Tensor.from([
  [1, 2],
  [3, 4.5],
]);
console.log(x);
console.log({ x });
console.log([[x.view()]]);
