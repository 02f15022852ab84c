/** Rules 4.1.3, 4.1.4 and 5.8 of docs/spec.md: other realms, realms that are locked, and engines with immutable buffers. */

import { createContext, runInContext } from 'node:vm';
import { DLPACK, type DLPackSource, fromDLPack, type ManagedTensor, Tensor } from 'dlpack';
import { equal } from '../../assert.js';
import { resultOf, runChild } from '../../child.js';
import { test } from '../../harness.js';

test('4.1.3: producers, buffers and arrays of another realm', () => {
  const context = createContext({ log: [] as string[] });
  const code = `({
    [Symbol.for('dlpack')]: () => ({
      version: [1, 3], flags: 0, data: new Uint8Array([7, 8]).buffer, byteOffset: 0, shape: [2], strides: [1],
      dtype: { code: 1, bits: 8, lanes: 1 }, device: { type: 1, id: 0 }, deleter: () => log.push('deleted'),
    }),
  })`;
  const x = fromDLPack(runInContext(code, context) as DLPackSource);
  equal(x.toArray(), [7, 8]);
  x.dispose();
  equal(runInContext('log.length', context), 1);
});

test('5.8: each realm has its own set, and a second call of our deleter is harmless', () => {
  const x = Tensor.from([1, 2]);
  const managed = x[DLPACK]() as ManagedTensor;
  const context = createContext({ managed });
  // A consumer in another realm, with its own set.
  runInContext(
    `const key = Symbol.for('dlpack.consumed');
     (globalThis[key] ??= new WeakSet()).add(managed);
     managed.deleter();`,
    context,
  );
  const y = fromDLPack({ [DLPACK]: () => managed });
  y.dispose();
  equal(x.toArray(), [1, 2]);
});

test('5.8: a realm that has no place for the set', () => {
  for (const realm of ['frozen', 'garbage']) {
    const { output } = runChild(import.meta.url, './children/realm.js', { args: [realm] });
    equal(resultOf<string>(output), 'released once', realm);
  }
});

test('4.1.4: an immutable ArrayBuffer is read-only, as our own memory and as that of another producer', () => {
  const { output } = runChild(import.meta.url, './children/immutable.js');
  equal(resultOf(output), [
    [true, 1, [1, 2]],
    [true, [3, 4], 'ReadOnlyError'],
    [false, false],
  ]);
});
