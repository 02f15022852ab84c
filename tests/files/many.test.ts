/** Many open files. A process may have about 65,000 mappings on Linux, and a runtime that gets none aborts. */

import { existsSync, readFileSync } from 'node:fs';
import { Tensor } from 'dlpack';
import { openNpySync, openSafetensorsSync, writeNpy, writeSafetensors } from 'dlpack/files';
import { equal, ok } from '../assert.js';
import { resultOf, runChild } from '../child.js';
import { testWith } from '../harness.js';
import { newPath } from './make.js';

const setting = '/proc/sys/vm/max_map_count';
const limit = existsSync(setting) ? Number(readFileSync(setting, 'utf8')) : 0;
const noLimit = limit > 0 ? false : 'a limit of mappings';

interface Many {
  opened: number;
  problem: string;
  added: number;
  sum: number;
}

const openMany = (path: string, count: number): Many =>
  resultOf(runChild(import.meta.url, './children/many.js', { args: [path, String(count)] }).output);

testWith(noLimit, '70,000 open small files need no mappings of their own', async () => {
  const path = newPath('small.npy');
  await writeNpy(path, Tensor.zeros([1000], 'float32'));
  const { opened, problem, added } = openMany(path, 70_000);
  equal([opened, problem], [70_000, '']);
  ok(added < 10_000, `${added} mappings`);
});

testWith(
  limit > 0 && limit < 1e6 ? false : 'a limit of mappings',
  'too many mapped files are a typed error',
  async () => {
    const path = newPath('large.npy');
    await writeNpy(path, Tensor.zeros([100_000], 'float32'));
    const { opened, problem } = openMany(path, limit);
    equal(opened, Math.floor(limit / 2));
    ok(problem.startsWith('ENOMEM') && problem.includes('dispose tensors and close files'), problem);
  },
);

testWith(noLimit, 'a file is mapped once for all its tensors', async () => {
  const path = newPath('model');
  const tensors = Object.fromEntries(Array.from({ length: 500 }, (_, i) => [`t${i}`, Tensor.zeros([1000], 'uint8')]));
  await writeSafetensors(path, tensors);
  using file = openSafetensorsSync(path);
  const kept = Array.from(file, ([, tensor]) => tensor);
  const mapped = readFileSync('/proc/self/maps', 'utf8').split(path).length - 1;
  equal([kept.length, mapped], [500, 1]);
});

testWith(noLimit, 'a small file has a memory of its own, which other programs cannot change', async () => {
  const path = newPath('small.npy');
  await writeNpy(path, Tensor.from([1, 2, 3]));
  const tensor = openNpySync(path);
  equal(
    [tensor.isReadOnly, tensor.isCopied, readFileSync('/proc/self/maps', 'utf8').includes(path)],
    [true, false, false],
  );
  equal(tensor.toArray(), [1, 2, 3]);
});
