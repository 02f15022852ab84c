/** Python keeps the memory of tensors in SharedArrayBuffers, as in Electron, and releases it on a thread of its own. */

import { fromDLPack, Tensor } from 'dlpack';
import { liveCounts } from 'dlpack/debug';
import { equal, ok } from '../../../assert.js';
import { collectUntil } from '../../../harness.js';
import { define } from '../available.js';

const [keep, sum, give, drop] = define(
  `
import threading
import numpy as np
kept = []
def keep(tensor):
    kept.append(np.from_dlpack(tensor))
    kept[0][1] = 50
def total():
    return float(kept[0].sum())
def give():
    return kept[0]
def drop():
    thread = threading.Thread(target=kept.clear)
    thread.start()
    thread.join()
`,
  'keep',
  'total',
  'give',
  'drop',
);

const count = 2 ** 18;
(() => {
  const x = Tensor.from(new Float32Array(count).fill(1));
  const { data } = x;
  keep(x);
  equal([x.isDataCopied, data[1]], [false, 50], '.data shows what Python wrote');
  data[0] = 100;
  x.dispose();
})();
for (let i = 0; i < 20; i++) Tensor.from(new Float32Array(count).fill(i)).dispose();
ok(await collectUntil(() => liveCounts().storages === 1), 'Python keeps the memory');
equal(sum(), count + 148);
(() => {
  using array = give();
  using back = fromDLPack(array);
  equal([back.get(0), back.get(1), back.isDataCopied], [100, 50, true], 'memory of NumPy is copied');
})();
drop();
const isReleased = await collectUntil(() => liveCounts().storages === 0 && liveCounts().pins === 0);
ok(isReleased, JSON.stringify(liveCounts()));
console.log('kept and released');
process.exit(0);
