/**
 * What runtimes that forbid external ArrayBuffers (Electron) do, simulated by an environment variable: the memory of new
 * tensors is in SharedArrayBuffers, and `.data` of other memory is a marked copy.
 */

import { Worker } from 'node:worker_threads';
import { fromDLPack, Tensor } from 'dlpack';
import { liveCounts } from 'dlpack/debug';
import { addressOf, exportManaged, importManaged } from 'dlpack/native';
import { shareTensor } from 'dlpack/shared';
import { equal, ok, throws } from '../../assert.js';
import { collectUntil } from '../../harness.js';

const pairs = [
  [1, 2],
  [3, 4],
];

// New tensors, however they are made, share their memory with `.data` and with native code.
const flat = Tensor.from(pairs, { dtype: 'float32' });
const makers: Record<string, () => Tensor> = {
  nested: () => Tensor.from(pairs, { dtype: 'float32' }),
  array: () => Tensor.from(new Float32Array([1, 2, 3, 4]), { shape: [2, 2] }),
  large: () => Tensor.from(new Float32Array(2 ** 20).fill(1)),
  copy: () => flat.copy(),
  cast: () => flat.astype('float64'),
  packed: () => flat.transpose().contiguous(),
  zeros: () => Tensor.zeros([2, 2], 'float32'),
  scalar: () => Tensor.from(7),
  nibbles: () => Tensor.from([1, 2, 3], { dtype: 'int4' }),
};
for (const [name, make] of Object.entries(makers)) {
  const x = make();
  const { data } = x;
  equal([x.isDataCopied, data.buffer instanceof SharedArrayBuffer], [false, true], name);
  equal(addressOf(x) % 256n, 0n, `${name}: aligned for every consumer`);
  const y = importManaged(exportManaged(x, { copy: false }));
  equal([addressOf(y), y.isDataCopied], [addressOf(x), false], name);
  ok(y.data.buffer === data.buffer && y.data.byteOffset === data.byteOffset, name);
  data[0] = 5;
  equal(y.get(...y.shape.map(() => 0)), 5, `${name}: a write to .data reaches the memory`);
  x.dispose();
  equal(data[0], 5, `${name}: the import keeps the memory`);
  y.dispose();
  equal(data[0], 5, `${name}: the array keeps the SharedArrayBuffer, which cannot be detached`);
  throws('DisposedError', '', () => y.data);
}
let isMoved = true;
try {
  structuredClone(flat.data, { transfer: [flat.data.buffer as ArrayBuffer] });
} catch {
  isMoved = false;
}
ok(!isMoved && flat.data.length === 4, 'no program can move the memory');
equal(Tensor.empty([0], 'float32').data.length, 0);
const wrapped = Tensor.wrap(flat.data);
equal([addressOf(wrapped), fromDLPack(flat).data.buffer === flat.data.buffer], [addressOf(flat), true]);

// An export keeps the memory when no JavaScript object refers to it any more.
const address = (() => {
  const x = Tensor.from(new Float32Array(2 ** 18).fill(3));
  const exported = exportManaged(x);
  x.dispose();
  return exported;
})();
flat.dispose();
ok(await collectUntil(() => liveCounts().storages === 1), 'only the export is left');
for (let i = 0; i < 20; i++) Tensor.from(new Float32Array(2 ** 18).fill(i)).dispose();
const back = importManaged(address);
ok([...back.data].every((value) => value === 3) && !back.isDataCopied);
back.dispose();
ok(await collectUntil(() => liveCounts().pins === 0 && liveCounts().storages === 0), 'and the pins are gone');

// A tensor that nobody disposes is released by the collector.
(() => Tensor.zeros([100], 'uint8').data.fill(1))();
ok(await collectUntil(() => liveCounts().pins === 0 && liveCounts().storages === 0), 'collected');

// Other memory: `.data` is a copy. `get`, `set` and exchange use the memory itself.
const x = Tensor.adopt(new Float32Array([1, 2, 3, 4]), { shape: [2, 2] });
ok(x.isDataCopied);
equal([...x.data], [1, 2, 3, 4]);
x.set(1, 1, 9);
equal(x.toArray(), [
  [1, 2],
  [3, 9],
]);
const y = importManaged(exportManaged(x));
equal([addressOf(y), y.isDataCopied], [addressOf(x), true]);
equal(y.get(1, 1), 9, 'set reaches the memory');
y.set(0, 0, 7);
equal(x.get(0, 0), 7, 'and get reads it');
const { data } = x;
data[0] = 100;
equal(y.get(0, 0), 7, 'a write to the copy stays there');
structuredClone(data.buffer, { transfer: [data.buffer as ArrayBuffer] });
x.set(0, 1, 5);
equal([x.get(0, 1), y.get(0, 1), x.data.length, data.length], [5, 5, 4, 0], 'a copy that was taken away is made anew');
x.set(0, 1, 2);
equal(fromDLPack(x.transpose()).copy().toArray(), [
  [7, 3],
  [2, 9],
]);
x.dispose();
equal(y.get(0, 0), 7);
const adopted = Tensor.adopt(new Float32Array(3));
const copy = adopted.data;
adopted.dispose();
equal(copy.length, 0, 'the copy is detached');

// The copy does not overwrite the results of a native pass.
const t = Tensor.adopt(new Float32Array(3));
t.get(0);
equal(t.fill(5).toArray(), [5, 5, 5]);
equal(t.copyFrom(Tensor.from([7, 8, 9])).toArray(), [7, 8, 9]);
t.slice([1, null]).set(0, 1);
t.slice([0, 1]).fill(4);
equal(t.toArray(), [4, 1, 9]);
const c = Tensor.adopt(new Float32Array(4), { dtype: 'complex64' });
c.get(0);
equal(c.copyFrom(Tensor.from([1, 2])).toArray(), [
  { re: 1, im: 0 },
  { re: 2, im: 0 },
]);
const bits = Tensor.adopt(new Uint8Array(2), { dtype: 'int4', shape: [3] });
bits.set(0, 1);
equal(bits.copyFrom(Tensor.from([3, 4, 5])).toArray(), [3, 4, 5]);
equal((await t.astypeAsync('int8')).toArray(), [4, 1, 9]);

// A worker has copies, and what it exports outlives it.
const worker = new Worker(new URL('./no-external-buffers-worker.js', import.meta.url));
const shared = Tensor.from([1, 2], { dtype: 'float32' });
worker.postMessage(shareTensor(shared));
const { copied, address: exported } = await new Promise<{ copied: boolean[]; address: bigint }>((resolve, reject) =>
  worker.once('message', resolve).once('error', reject),
);
await worker.terminate();
equal([copied, shared.data[0]], [[true, true], 6], 'the worker wrote to the SharedArrayBuffer');
equal(importManaged(exported).toArray(), [8, 9]);
console.log('shared, copied and exchanged');
