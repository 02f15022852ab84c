/** Ends the process with Python objects and tensors of both sides alive. */

import { fromDLPack, Tensor } from 'dlpack';
import { python } from 'dlpack/python';

const py = python();
const np = py.import('numpy');
const kept: unknown[] = [];
for (let i = 0; i < 50; i++) {
  const x = Tensor.from([1, 2, 3]);
  const a = np.from_dlpack(x);
  const y = fromDLPack(np.arange(10));
  kept.push(x, a, y, y.data);
}
(globalThis as { kept?: unknown }).kept = kept;
console.log('alive');
if (process.argv[2] === 'exit') process.exit(0);
