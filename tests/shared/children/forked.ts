/**
 * Python alone holds named memory, and drops it in a process that it forks. Prints whether the name exists before and after,
 * and an element.
 */

import { existsSync } from 'node:fs';
import { Tensor } from 'dlpack';
import { python } from 'dlpack/python';
import { collect } from '../../harness.js';

const name = process.argv[2] as string;
const py = python();
const builtins = py.import('builtins');
const hasName = (): boolean => existsSync(`/dev/shm/${name}`);
(() => {
  builtins.kept = Tensor.zeros([4], 'uint8', { shareable: name }).fill(7); // not disposed, which would remove the name
})();
for (let i = 0; i < 5; i++) await collect();
const before = hasName();
py.exec(`
import os, builtins, warnings
warnings.simplefilter("ignore", DeprecationWarning)  # fork beside Node's threads; this child calls nothing that waits
child = os.fork()
if child == 0:
    del builtins.kept
    os._exit(0)
os.waitpid(child, 0)
`);
using kept = py.callTensor(py.eval('lambda: __import__("builtins").kept'));
console.log(before, hasName(), kept.get(0));
