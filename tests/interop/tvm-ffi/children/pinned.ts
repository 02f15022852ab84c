/** A tensor and a function that outlive every handle of the module they come from: their deleters are in its code. */

import { readFileSync } from 'node:fs';
import type { Tensor } from 'dlpack';
import { loadModule } from 'dlpack/tvm-ffi';
import { collect, collectUntil } from '../../../harness.js';

const [path = ''] = process.argv.slice(2);
const isMapped = () => readFileSync('/proc/self/maps', 'utf8').includes(path);

const tensor = (() => {
  const module = loadModule(path);
  return module.make_tensor?.(3) as Tensor;
})();
const blocks = (() => loadModule(path).live_blocks as () => number)();
await collect();
const values = tensor.toArray();
tensor.dispose();
await collectUntil(() => blocks() === 0);
console.log(JSON.stringify({ isMapped: isMapped(), values, blocks: blocks() }));
