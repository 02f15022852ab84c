/** Replaces or removes builtin global functions, then uses everything that is made with them, here and in a worker. */

import { Worker } from 'node:worker_threads';
import { Tensor } from 'dlpack';
import {
  asModule,
  Dict,
  type FFIFunction,
  getGlobalFunc,
  globalFuncNames,
  loadModule,
  registerGlobalFunc,
  removeGlobalFunc,
  Shape,
} from 'dlpack/tvm-ffi';
import { kernelsPath, probe, testing } from '../peer.js';

const what = process.argv[2] as 'string';
const echo = testing('echo');
const keep = probe('keep');
const builtins = globalFuncNames().filter((name) => /^ffi\.\w+$/.test(name));
const maker = {
  string: () => 'x'.repeat(1000),
  tensor: () => Tensor.zeros([1000], 'float32'),
  number: () => 1.5,
  nothing: () => undefined,
  removed: () => undefined,
}[what];
for (const name of builtins) {
  if (name === 'ffi.FunctionRemoveGlobal' || name === 'ffi.FunctionListGlobalNamesFunctor') continue;
  if ((what as string) === 'removed') removeGlobalFunc(name);
  else registerGlobalFunc(name, maker, { override: true });
}

const kernels = loadModule(kernelsPath);
keep(kernels);
const after = [
  echo([1, 2, 3]),
  (
    echo(
      new Map([
        [1, 2],
        [3, 4],
      ]),
    ) as Map<number, number>
  ).size,
  [...(echo(new Shape([1, 2])) as Shape)],
  [(echo(new Dict([['k', 5]])) as Dict).get('k')],
  echo([[1], [2]].length),
  globalFuncNames().length > 0,
  typeof (asModule(probe('kept')()) as Record<string, FFIFunction>).add_one,
  removeGlobalFunc('testing.echo') && getGlobalFunc('testing.echo', { allowMissing: true }) === null,
];

const worker = new Worker(new URL('./replaced-worker.js', import.meta.url));
worker.once('message', (value) => console.log(JSON.stringify({ after, worker: value })));
