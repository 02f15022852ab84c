/** Memory with a name, which every system has. */
import { Tensor } from 'dlpack';
import { addressOf } from 'dlpack/native';
import { describeTensor, openTensor } from 'dlpack/shared';
import { equal, notEqual, throws } from '../assert.js';
import { runChild } from '../child.js';
import { test } from '../harness.js';

let count = 0;
const named = (): [Tensor, string] => {
  const name = `dlpack_names_${process.pid}_${count++}`;
  return [Tensor.zeros([4], 'int32', { shareable: name }), name];
};

test('memory with a name: another process reads and writes it', () => {
  const [x] = named();
  x.fill(5);
  const description = describeTensor(x, { copy: false });
  const { output } = runChild(import.meta.url, './children/open.js', { args: [JSON.stringify(description)] });
  equal(JSON.parse(output), ['int32', [4], [5, 5, 5, 5], 'wrote']);
  equal(x.get(3), 9, 'written there');
  x.dispose();
});

test('memory with a name: opened in the same process it has a second address', () => {
  const [x] = named();
  using y = openTensor(describeTensor(x, { copy: false }));
  notEqual(addressOf(y), addressOf(x));
  x.fill(3);
  equal(y.get(3), 3);
  x.dispose();
  equal(y.get(0), 3, 'the mapping keeps the memory');
});

test('memory with a name: a name is taken until its memory is released', () => {
  const [x, name] = named();
  const description = describeTensor(x, { copy: false });
  const taken = () => Tensor.zeros([1], 'uint8', { shareable: name });
  throws('ValueError', 'a name that no memory has', taken);
  throws('ValueError', 'killed processes leave names', taken);
  throws('ValueError', '1 to 250 bytes', () => Tensor.zeros([1], 'uint8', { shareable: 'é'.repeat(126) }));
  x.dispose();
  throws('BufferError', 'has ended or released it', () => openTensor(description));
  Tensor.zeros([1], 'uint8', { shareable: name }).dispose();
});
