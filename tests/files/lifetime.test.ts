/** The mapping lives until the file is closed and all its tensors are released, however that happens. */

import { existsSync, readdirSync, readFileSync, renameSync, unlinkSync } from 'node:fs';
import { dirname } from 'node:path';
import { Worker } from 'node:worker_threads';
import { fromDLPack, scope, Tensor } from 'dlpack';
import { liveCounts } from 'dlpack/debug';
import { openNpySync, openNpzSync, openSafetensorsSync, writeSafetensors } from 'dlpack/files';
import { exportManaged, importManaged } from 'dlpack/native';
import { openTensor } from 'dlpack/shared';
import { equal, ok, rejects, throws } from '../assert.js';
import { resultOf, runChild } from '../child.js';
import { collect, collectUntil, test, testWith } from '../harness.js';
import { MOST_MIB } from '../peak.js';
import { fileOf, newPath, npy, safetensors } from './make.js';

/** Makes a file so large that it is mapped, not read. */
const padding = 'x'.repeat(300_000);
const bytes = safetensors(
  {
    __metadata__: { padding },
    a: { dtype: 'U8', shape: [4], data_offsets: [0, 4] },
    b: { dtype: 'U8', shape: [4], data_offsets: [4, 8] },
  },
  new Uint8Array([1, 2, 3, 4, 5, 6, 7, 8]),
);

const maps = '/proc/self/maps';
const noMaps = existsSync(maps) ? false : 'a list of mappings (/proc/self/maps)';
const isMapped = (path: string): boolean => readFileSync(maps, 'utf8').includes(path);

testWith(noMaps, 'the mapping ends when the file and all its tensors are released', () => {
  const path = fileOf(bytes);
  const before = liveCounts().imports;
  const file = openSafetensorsSync(path);
  const a = file.get('a');
  const b = file.get('b');
  file.dispose();
  equal([a.toArray(), isMapped(path)], [[1, 2, 3, 4], true]);
  a.dispose();
  equal([b.toArray(), isMapped(path)], [[5, 6, 7, 8], true]);
  b.dispose();
  equal([isMapped(path), liveCounts().imports], [false, before]);
});

for (const [size, how] of [
  ['large', 'which are mapped'],
  ['small', 'which are read'],
] as const) {
  testWith(noMaps, `more files than the system can map at once are opened in one tick: ${size} ones, ${how}`, () => {
    const { output } = runChild(import.meta.url, './children/peak.js', { args: [size] });
    const grown = resultOf<number>(output);
    ok(grown < MOST_MIB, `${grown} MiB`);
  });
}

testWith(noMaps, 'without a typed array, the mapping ends at once', () => {
  const path = fileOf(bytes);
  const before = liveCounts().imports;
  const file = openSafetensorsSync(path);
  const tensors = Array.from(file, ([, tensor]) => tensor);
  equal(liveCounts().imports, before + 3);
  for (const tensor of tensors) tensor.dispose();
  file.dispose();
  equal([isMapped(path), liveCounts().imports], [false, before]);
});

testWith(noMaps, 'the mapping stays while other owners or native exports hold it', async () => {
  const path = fileOf(bytes);
  const file = openSafetensorsSync(path);
  const a = file.get('a');
  file.dispose();
  const managed = exportManaged(a);
  const shared = fromDLPack(a);
  a.dispose();
  shared.dispose();
  equal(isMapped(path), true, 'held by the managed tensor');
  const back = importManaged(managed);
  equal([back.toArray(), back.isReadOnly], [[1, 2, 3, 4], true]);
  back.dispose();
  ok(await collectUntil(() => !isMapped(path)));
});

testWith(noMaps, 'files that are never closed and tensors that are never disposed are collected', async () => {
  const path = fileOf(bytes);
  (() => {
    openSafetensorsSync(path).get('a').get(0);
  })();
  ok(await collectUntil(() => !isMapped(path)));
});

testWith(noMaps, 'a typed array alone keeps the mapping', async () => {
  const path = fileOf(bytes);
  const data = (() => openSafetensorsSync(path, { mode: 'c' }).get('a').data)();
  await collect();
  equal([...data], [1, 2, 3, 4]);
  ok(isMapped(path));
});

testWith(noMaps, 'a refused file is not left mapped', () => {
  const before = liveCounts().imports;
  const path = fileOf(bytes.subarray(0, bytes.length - 1));
  throws('FileFormatError', '', () => openSafetensorsSync(path));
  throws('FileFormatError', '', () => openNpySync(path));
  throws('FileFormatError', '', () => openNpzSync(path));
  equal([isMapped(path), liveCounts().imports], [false, before]);
});

test('dispose detaches the data of one tensor, not of its neighbours', () => {
  const file = openSafetensorsSync(fileOf(bytes), { mode: 'c' });
  const a = file.get('a');
  const b = file.get('b');
  const [dataA, dataB] = [a.data, b.data];
  equal(dataA.buffer.byteLength, 4, 'the buffer shows the tensor, not the file');
  a.dispose();
  a.dispose();
  equal([dataA.length, dataB.length], [0, 4]);
  file.dispose();
  equal([...dataB], [5, 6, 7, 8]);
});

async function replacesWhenReleased(): Promise<void> {
  const path = newPath('model');
  await writeSafetensors(path, { x: Tensor.from([1, 2]) }, { metadata: { padding } });
  const old = openSafetensorsSync(path);
  const x = old.get('x');
  const replacing = writeSafetensors(path, { x: Tensor.from([3, 4]) });
  equal((await rejects('FileError', 'dispose its tensors', replacing)).code, 'EPERM');
  equal([x.toArray(), readdirSync(dirname(path))], [[1, 2], ['model']]);
  old.dispose();
  x.dispose();
  await writeSafetensors(path, { x: Tensor.from([3, 4]) });
  using replaced = openSafetensorsSync(path);
  equal(replaced.get('x').toArray(), [3, 4]);
}

async function replacesAndDeletes(): Promise<void> {
  const path = newPath('model');
  await writeSafetensors(path, { x: Tensor.from([1, 2]) }, { metadata: { padding } });
  using old = openSafetensorsSync(path);
  const x = old.get('x');
  await writeSafetensors(path, { x: Tensor.from([3, 4]) });
  equal(
    [x.toArray(), openSafetensorsSync(path).get('x').toArray()],
    [
      [1, 2],
      [3, 4],
    ],
  );
  renameSync(path, `${path}.moved`);
  unlinkSync(`${path}.moved`);
  equal(x.toArray(), [1, 2]);
}

if (process.platform === 'win32')
  test('a mapped file is replaced only after its tensors are released', replacesWhenReleased);
else test('the file may be deleted or replaced while it is mapped', replacesAndDeletes);

test('nothing is reported to the collector, whatever the size of the file', () => {
  const path = fileOf(npy("{'descr': '|u1', 'fortran_order': False, 'shape': (8388608,), }", new Uint8Array(8388608)));
  const before = liveCounts().reported;
  const x = openNpySync(path);
  equal(liveCounts().reported, before);
  x.dispose();
  equal(liveCounts().reported, before);
});

test('a scope disposes a file, and its tensors live on', () => {
  const path = fileOf(bytes);
  const [file, tensor] = [openSafetensorsSync(path), openSafetensorsSync(path).get('b')];
  scope((track) => equal(track(file).size > 0, true));
  throws('DisposedError', 'was disposed', () => file.get('b'));
  equal(tensor.toArray(), [5, 6, 7, 8]);
});

test('a worker gets a tensor of a file, which outlives the thread that opened the file', async () => {
  const script = `
    const { parentPort, workerData } = require('node:worker_threads');
    import('dlpack/files').then(async ({ openSafetensorsSync }) => {
      const { shareTensor } = await import('dlpack/shared');
      const file = openSafetensorsSync(workerData);
      parentPort.postMessage(shareTensor(file.get('b')));
    });`;
  const worker = new Worker(script, { eval: true, workerData: fileOf(bytes) });
  const token = await new Promise((resolve, reject) => worker.once('message', resolve).once('error', reject));
  const b = openTensor(token as never);
  await worker.terminate();
  equal([b.toArray(), b.isReadOnly], [[5, 6, 7, 8], true]);
});

test('elements can be read where external buffers are forbidden', () => {
  const { code, output } = runChild(import.meta.url, './children/read.js', {
    args: [fileOf(bytes)],
    env: { DLPACK_NO_EXTERNAL_BUFFERS: '1' },
  });
  equal([code, output.trim()], [0, '5 6 7 8 copied 9']);
});

test('a process that exits with files open', () => {
  const { code, signal } = runChild(import.meta.url, './children/exit.js', { args: [fileOf(bytes)] });
  equal([code, signal], [0, null]);
});
