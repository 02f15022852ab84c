/** Files straight to a real device, against the same bytes on the host. */

import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Tensor } from 'dlpack';
import { Stream } from 'dlpack/cuda';
import { emptyCache, liveCounts } from 'dlpack/debug';
import {
  openNpySync,
  openSafetensors,
  openSafetensorsSync,
  type Progress,
  writeNpy,
  writeSafetensors,
} from 'dlpack/files';
import { equal, ok } from '../assert.js';
import { collectUntil, test } from '../harness.js';
import { randomFrom } from '../random.js';
import { sleep } from './peers.js';

const folder = mkdtempSync(join(tmpdir(), 'dlpack-gpu-'));
process.on('exit', () => rmSync(folder, { recursive: true, force: true }));
const path = join(folder, 'model.safetensors');

/** Sizes around the blocks of an upload (64 KiB to 4 MiB) and its steps (8 MiB and more), in bytes. */
const sizes = [0, 1, 4095, 65_537, (4 << 20) - 1, 4 << 20, (4 << 20) + 1, (8 << 20) + 3, (80 << 20) + 17];
const random = randomFrom(17);
const sources = sizes.map((size) => Tensor.from(random.bytes(size)));
await writeSafetensors(path, Object.fromEntries(sources.map((source, i) => [`t${i}`, source])));

function isSame(there: Tensor, source: Tensor | undefined): boolean {
  using back = there.to('cpu');
  return Buffer.compare(back.data as Uint8Array, source?.data as Uint8Array) === 0;
}

test('each tensor, and all at once, byte for byte', async () => {
  using file = openSafetensorsSync(path);
  for (const [i, source] of sources.entries()) {
    using there = await file.getAsync(`t${i}`, { device: 'cuda:0' });
    ok(isSame(there, source), `${source.size} bytes`);
  }
  const progress: Progress[] = [];
  const all = await file.getAllAsync({ device: 'cuda:0', onProgress: (step) => void progress.push(step) });
  for (const [i, source] of sources.entries()) {
    const there = all.get(`t${i}`) as Tensor;
    ok(isSame(there, source), `${source.size} bytes of all`);
    there.dispose();
  }
  const last = progress.filter(({ name }) => name === `t${sizes.length - 1}`);
  ok(last.length > 1 && last.every(({ loaded }, i) => i === 0 || loaded > (last[i - 1] as Progress).loaded));
});

test('on a stream of the program, behind its work', async () => {
  using file = openSafetensorsSync(path);
  const stream = new Stream();
  sleep(stream.handle);
  const arriving = stream.use(() => file.getAsync('t7', { device: 'cuda:0' }));
  stream.dispose();
  using there = await arriving;
  ok(isSame(there, sources[7]));
});

test('a signal stops an upload, and nothing of it stays', async () => {
  using file = openSafetensorsSync(path);
  emptyCache();
  const { storages } = liveCounts();
  const controller = new AbortController();
  const stopped = file.getAllAsync({
    device: 'cuda:0',
    signal: controller.signal,
    onProgress: () => controller.abort(new Error('enough')),
  });
  equal(await stopped.catch((error: Error) => error.message), 'enough');
  emptyCache();
  // Memory of an earlier test may go meanwhile.
  ok(await collectUntil(() => liveCounts().storages <= storages), 'memory of the tensors that had arrived');
});

test('a Blob, and an array in Fortran order', async () => {
  using file = await openSafetensors(new Blob([readFileSync(path)]));
  using there = await file.getAsync('t3', { device: 'cuda:0' });
  ok(isSame(there, sources[3]));
  const array = join(folder, 'x.npy');
  using rows = Tensor.from([
    [1, 2, 3],
    [4, 5, 6],
  ]);
  using columns = rows.transpose();
  await writeNpy(array, columns);
  using mapped = openNpySync(array);
  using device = mapped.to('cuda:0');
  using again = device.to('cpu');
  equal(again.toArray(), columns.toArray());
});
