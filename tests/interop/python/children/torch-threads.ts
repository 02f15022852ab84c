/**
 * Prints how many threads PyTorch uses for a call on a thread of the pool. Arguments: the pool's, and PyTorch's; or `worker` and
 * the pool's, and a worker that ends at once is the first that imports PyTorch.
 */

import { isMainThread, Worker } from 'node:worker_threads';
import { callAsync, python } from 'dlpack/python';

if (!isMainThread) python().import('torch');
else {
  const first = process.argv[2] === 'worker';
  const [pool, chosen] = process.argv.slice(first ? 3 : 2).map(Number);
  const py = python(pool === undefined ? {} : { threads: pool });
  if (first) await new Promise((resolve) => new Worker(new URL(import.meta.url)).once('exit', resolve));
  const { get_num_threads, set_num_threads } = py.import('torch');
  if (chosen !== undefined) set_num_threads(chosen);
  console.log(await callAsync(get_num_threads));
}
