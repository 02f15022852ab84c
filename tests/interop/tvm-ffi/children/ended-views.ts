/** Callbacks get views where the stack is almost full. Prints how a read of these views ends after the callbacks. */

import { Tensor, type TensorView } from 'dlpack';
import { toFunction } from 'dlpack/tvm-ffi';
import { testing } from '../peer.js';

const deeper = (levels: number, action: () => unknown): unknown =>
  levels === 0 ? action() : deeper(levels - 1, action);

const kept: TensorView[] = [];
const apply = testing('apply');
const keep = toFunction((view: TensorView) => {
  kept.push(view);
});
const view = Tensor.from([1, 2, 3]).view();
apply(keep, view);

for (let levels = 0; levels < 60; levels++) {
  let ended = 0;
  /** Fills the stack, and calls from each level on the way back until calls have succeeded. */
  const descend = (): void => {
    try {
      descend();
    } catch {}
    if (ended === 3) return;
    apply(keep, view);
    ended++;
  };
  deeper(levels, descend);
}

const names = kept.map((view) => {
  try {
    return String(view.toArray());
  } catch (error) {
    return (error as Error).name;
  }
});
console.log(...new Set(names));
