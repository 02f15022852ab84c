/** Workers of a PyTorch DataLoader prepare batches in processes of their own, and JavaScript consumes them without a copy. */

import { fileURLToPath } from 'node:url';
import { fromDLPack } from 'dlpack';
import { callAsync, isPyObject, kwargs, python } from 'dlpack/python';

const py = python();
// The folder of squares.py. Code of `py.exec` has no file that a worker process could import.
py.import('sys').path.append(fileURLToPath(new URL('../../../examples/cluster', import.meta.url)));
const { Squares } = py.import('squares');
const { DataLoader } = py.import('torch.utils.data');

const loader = DataLoader(Squares(), kwargs({ batch_size: 4, num_workers: 2, multiprocessing_context: 'spawn' }));
const { iter, next } = py.import('builtins');
const batches = iter(loader);
for (;;) {
  // On another thread, because this waits for a worker. The second argument is the result at the end.
  const batch = await callAsync(next, batches, null);
  if (!isPyObject(batch)) break;
  const tensor = fromDLPack(batch, { dtype: 'float32' }); // the memory that the worker wrote
  console.log(tensor.data.join(' '));
}
