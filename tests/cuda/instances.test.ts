/** The package evaluated a second time over the same addon file, in the same thread. */

import { cpSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { fromDLPack, Tensor } from 'dlpack';
import * as cuda from 'dlpack/cuda';
import { addressOf } from 'dlpack/native';
import { equal, notEqual } from '../assert.js';
import { fake, fakeDriverPath } from './fake.js';
import { cudaTest } from './machine.js';

const root = fileURLToPath(new URL('../../..', import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'dlpack-second-'));
for (const name of ['dist', 'package.json']) cpSync(join(root, name), join(folder, name), { recursive: true });
symlinkSync(join(root, 'prebuilds'), join(folder, 'prebuilds'));
const load = (file: string): Promise<unknown> => import(pathToFileURL(join(folder, 'dist', file)).href);
const second = {
  core: (await load('index.node.js')) as typeof import('dlpack'),
  cuda: (await load('cuda/index.js')) as typeof cuda,
};
process.on('exit', () => rmSync(folder, { recursive: true }));

cudaTest('two instances allocate, copy and use streams in turns', () => {
  notEqual(second.core.Tensor, Tensor);
  second.cuda.loadDriver({ path: fakeDriverPath });
  const made = [Tensor, second.core.Tensor].map((Class, i) =>
    Class.from([i, i + 1, i + 2], { dtype: 'float32' }).to('cuda:0'),
  );
  for (let round = 0; round < 3; round++) {
    for (const [i, x] of made.entries()) equal(x.flip().copy().to('cpu').toArray(), [i + 2, i + 1, i]);
  }
  const [a, b] = [new cuda.Stream(), new second.cuda.Stream()];
  const events = a.use(() => {
    made[0]?.fill(5);
    const inner = b.use(() => {
      made[1]?.fill(6);
      equal([cuda.Stream.current().handle, second.cuda.Stream.current().handle], [a.handle, b.handle]);
      return b.record();
    });
    equal([cuda.Stream.current().handle, second.cuda.Stream.current().handle], [a.handle, 1n]);
    return [a.record(), inner];
  });
  for (const event of events) event.synchronize();
  equal(
    made.map((x) => x.to('cpu').toArray()),
    [
      [5, 5, 5],
      [6, 6, 6],
    ],
  );
  for (const owned of [...made, ...events, a, b]) owned.dispose();
});

cudaTest('a tensor crosses from one instance to the other without a copy, and in order', () => {
  const stream = new second.cuda.Stream();
  const x = second.core.Tensor.zeros([4], 'float32', { device: 'cuda:0' });
  fake.delay(stream.handle);
  stream.use(() => x.fill(3));
  const y = fromDLPack(x);
  const copy = y.copy();
  equal(y.device, 'cuda:0');
  fake.release(stream.handle);
  equal(copy.to('cpu').toArray(), [3, 3, 3, 3]);
  y.fill(4);
  equal(x.to('cpu').toArray(), [4, 4, 4, 4]);
  const address = addressOf(y);
  x.dispose();
  equal([addressOf(y), y.to('cpu').toArray()], [address, [4, 4, 4, 4]]);
  for (const owned of [y, copy, stream]) owned.dispose();
});
