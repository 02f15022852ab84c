/** A tensor that outlives every handle of its module. Its deleter is in that module's code. */

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
for (let i = 0; i < 3; i++) await collect();
const wasMapped = isMapped();
const values = tensor.toArray();
tensor.dispose();
const blocks = loadModule(path).live_blocks as () => number;
await collectUntil(() => blocks() === 0);
console.log(JSON.stringify({ wasMapped, values, blocks: blocks() }));
