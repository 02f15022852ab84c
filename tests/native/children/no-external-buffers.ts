/** The path of runtimes that forbid external ArrayBuffers (Electron), simulated by an environment variable. */

import { fromDLPack, Tensor } from 'dlpack';
import { addressOf, exportManaged, importManaged } from 'dlpack/native';
import { equal, ok } from '../../assert.js';

const x = Tensor.from(
  [
    [1, 2],
    [3, 4],
  ],
  { dtype: 'float32' },
);
ok(x.isDataCopied);
equal([...x.data], [1, 2, 3, 4]);
x.set(1, 1, 9);
equal(x.toArray(), [
  [1, 2],
  [3, 9],
]);
const y = importManaged(exportManaged(x));
equal(addressOf(y), addressOf(x));
equal(y.get(1, 1), 9, 'set reaches the memory');
y.set(0, 0, 7);
equal(x.get(0, 0), 7, 'and get reads it');
const { data } = x;
data[0] = 100;
equal(y.get(0, 0), 7, 'a write to the copy stays there');
structuredClone(data.buffer, { transfer: [data.buffer] });
x.set(0, 1, 5);
equal([x.get(0, 1), y.get(0, 1), x.data.length, data.length], [5, 5, 4, 0], 'a copy that was taken away is made anew');
x.set(0, 1, 2);
equal(Tensor.zeros([3], 'int8').toArray(), [0, 0, 0]);
equal(Tensor.adopt(new Int8Array([1, 2])).toArray(), [1, 2]);
equal(fromDLPack(x.transpose()).copy().toArray(), [
  [7, 3],
  [2, 9],
]);
equal(x.astype('int8').toArray(), [
  [7, 2],
  [3, 9],
]);
x.dispose();
equal(y.get(0, 0), 7);

// The copy does not overwrite the results of a native pass.
const t = Tensor.zeros([3], 'float32');
t.get(0);
equal(t.fill(5).toArray(), [5, 5, 5]);
equal(t.copyFrom(Tensor.from([7, 8, 9])).toArray(), [7, 8, 9]);
t.slice([1, null]).set(0, 1);
t.slice([0, 1]).fill(4);
equal(t.toArray(), [4, 1, 9]);
const c = Tensor.zeros([2], 'complex64');
c.get(0);
equal(c.copyFrom(Tensor.from([1, 2])).toArray(), [
  { re: 1, im: 0 },
  { re: 2, im: 0 },
]);
const bits = Tensor.zeros([3], 'int4');
bits.set(0, 1);
equal(bits.copyFrom(Tensor.from([3, 4, 5])).toArray(), [3, 4, 5]);
equal((await t.astypeAsync('int8')).toArray(), [4, 1, 9]);
console.log('copied and exchanged');
