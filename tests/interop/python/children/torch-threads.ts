/** Prints how many threads PyTorch uses for a call on a thread of the pool. Arguments: the pool's, and PyTorch's. */

import { callAsync, python } from 'dlpack/python';

const [pool, chosen] = process.argv.slice(2).map(Number);
const py = python(pool === undefined ? {} : { threads: pool });
const { get_num_threads, set_num_threads } = py.import('torch');
if (chosen !== undefined) set_num_threads(chosen);
console.log(await callAsync(get_num_threads));
