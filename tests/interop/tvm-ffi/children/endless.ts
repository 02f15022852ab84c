/** A callback calls itself through native code until the stack is full, three times. Prints how often that ended. */

import { Tensor, type TensorView } from 'dlpack';
import { toFunction } from 'dlpack/tvm-ffi';
import { testing } from '../peer.js';

const deeper = (levels: number, action: () => unknown): unknown =>
  levels === 0 ? action() : deeper(levels - 1, action);

const first = Number(process.argv[2]);
let ended = 0;
for (let levels = first; levels < first + 3; levels++) {
  const kept: TensorView[] = [];
  const apply = testing('apply');
  const x = Tensor.from([1, 2, 3]);
  const again = toFunction((view: TensorView) => {
    kept.push(view);
    apply(again, view);
  });
  try {
    deeper(levels, () => apply(again, x.view()));
  } catch (error) {
    if (/stack|nested calls/.test((error as Error).message)) ended++;
  }
  x.dispose();
}
console.log(ended);
