/** Moves every buffer that a program can access while native code holds an export of its tensor, then reads the exports. */

import { expectTensor, Tensor } from 'dlpack';
import { addressOf, exportManaged, importManaged } from 'dlpack/native';
import { collect } from '../../harness.js';

function move(buffer: ArrayBufferLike): void {
  const movable = buffer as ArrayBuffer & { transfer?: (length?: number) => ArrayBuffer };
  try {
    if (movable.transfer !== undefined) movable.transfer(1);
    else structuredClone(movable, { transfer: [movable] });
  } catch {
    // Some runtimes refuse to move external memory: just as safe.
  }
}

const length = 1 << 16;
const exports: bigint[] = [];
const adopted = Tensor.adopt(new Uint8Array(length).fill(1));
exports.push(exportManaged(adopted));
move(adopted.data.buffer);
const owned = Tensor.empty([length], 'uint8');
owned.fill(2);
exports.push(exportManaged(owned));
move(owned.data.buffer);
const array = new Uint8Array(length).fill(3);
exports.push(exportManaged(Tensor.wrap(array)));
move(array.buffer);
if (owned.get(5) !== 2) throw new Error('a moved buffer must not take the tensor’s memory with it');
const before = addressOf(owned);
if (owned.data.length !== length || addressOf(owned) !== before) throw new Error('shown again in another buffer');

for (let round = 0; round < 5; round++) {
  await collect();
  // Overwrite freed memory.
  for (let i = 0; i < 200; i++) new Uint8Array(length).fill(255);
}
exports.forEach((address, i) => {
  const x = expectTensor(importManaged(address), { dtype: 'uint8' });
  for (let k = 0; k < length; k += 97) {
    if (x.get(k) !== i + 1) throw new Error(`export ${i} reads ${x.get(k)}`);
  }
});
console.log('all read');
