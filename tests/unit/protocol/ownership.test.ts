/** Section 5 of docs/spec.md: who calls the deleter, when, and how often. */

import { DLPACK, ForeignError, fromDLPack, type ManagedTensor } from 'dlpack';
import { equal, ok, throws } from '../../assert.js';
import { collectUntil, test } from '../../harness.js';
import { producer } from './producer.js';

test('5.2: the deleter is called on the managed tensor, without arguments', () => {
  const { object, record } = producer();
  const managed = object[DLPACK]();
  fromDLPack({ [DLPACK]: () => managed }).dispose();
  equal(record.receivers.length, 1);
  ok(record.receivers[0] === managed);
});

test('5.2: an error of the deleter does not hide the reason for the refusal', () => {
  const deleter = () => {
    throw new Error('cannot release');
  };
  const cases = [
    [{ byteOffset: -1 }, 'TypeError', 'byteOffset'],
    [{ data: new ArrayBuffer(8) }, 'LayoutError', '24 bytes'],
    [{ version: [2, 0] }, 'VersionError', '2.0'],
  ] as const;
  for (const [change, tag, text] of cases) {
    const error = throws(tag, text, () => fromDLPack(producer({ ...change, deleter }).object));
    ok(error.cause instanceof ForeignError && error.cause.message.includes('cannot release'));
  }
  throws('BufferError', "'cuda:0'", () => fromDLPack(producer({ deleter }).object, { device: 'cuda:0' }));
  throws('BufferError', 'copy: false', () => fromDLPack(producer({ deleter, flags: 2 }).object, { copy: false }));
});

test('5.1: a refused managed tensor is consumed, too', () => {
  const { object, record } = producer({ byteOffset: -1 });
  const managed = object[DLPACK]();
  throws('TypeError', 'byteOffset', () => fromDLPack({ [DLPACK]: () => managed }));
  throws('ConsumedError', '', () => fromDLPack({ [DLPACK]: () => managed }));
  equal(record.deleted, 1);
});

test('5.6: a dropped tensor is released although a finished export of it is kept', async () => {
  const { object, record } = producer();
  const kept = ((): ManagedTensor => fromDLPack(object)[DLPACK]() as ManagedTensor)();
  equal(record.deleted, 0);
  kept.deleter?.();
  ok(await collectUntil(() => record.deleted === 1));
  equal(kept.shape, [2, 3]);
});
