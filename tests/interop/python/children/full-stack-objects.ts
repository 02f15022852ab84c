/** Objects of one tick, and large ones that make their registration urgent where the stack is full. Prints what is left. */

import { type PyObject, python } from 'dlpack/python';
import { collectUntil } from '../../../harness.js';

const py = python();
const space = py.eval('{}');
py.import('builtins').exec(
  `
import numpy, weakref
class Thing: pass
live = weakref.WeakSet()
def thing():
  one = Thing()
  live.add(one)
  return one
large = lambda: numpy.zeros(9 << 20, 'u1')
count = lambda: len(live)
`,
  space,
);
const [thing, large, count] = ['thing', 'large', 'count'].map((name) => py.getItem(space, name)) as [
  () => PyObject,
  () => PyObject,
  () => number,
];

/** Fills the stack, and makes large objects from each of the last levels on the way back. */
function descend(state: { calls: number }): void {
  try {
    descend(state);
  } catch {
    // no room yet
  }
  if (++state.calls > 200) return;
  try {
    large();
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
  }
}

for (let i = 0; i < 20; i++) {
  for (let j = 0; j < 100; j++) thing();
  for (let j = 0; j < 7; j++) large(); // one more is too much for a tick
  descend({ calls: 0 });
  await new Promise((resolve) => setTimeout(resolve, 1));
}
await collectUntil(() => count() === 0);
console.log(count());
