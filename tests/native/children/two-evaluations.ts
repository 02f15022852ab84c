/**
 * The JavaScript of the package is evaluated twice in one thread over one addon file, as by two installs with a symbolic link or two
 * test files of one runner. Once on the main thread, and once in a worker.
 */

import { cpSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads';
import { equal, ok } from '../../assert.js';
import { collect } from '../../harness.js';

type Core = typeof import('dlpack');
type Debug = typeof import('dlpack/debug');
type Native = typeof import('dlpack/native');
type Evaluation = Pick<Core, 'Tensor' | 'fromDLPack' | 'DLPACK'> &
  Pick<Debug, 'liveCounts'> &
  Pick<Native, 'exportManaged' | 'importManaged'>;

const root = fileURLToPath(new URL('../../../../', import.meta.url));

async function evaluate(folder: string): Promise<Evaluation> {
  const load = (file: string) => import(pathToFileURL(join(folder, 'dist', file)).href);
  return {
    ...((await load('index.node.js')) as Core),
    ...((await load('debug/index.js')) as Debug),
    ...((await load('native/index.js')) as Native),
  };
}

/** Copies of the JavaScript, links to the addon. */
function install(top: string, name: string): string {
  const folder = join(top, name);
  cpSync(join(root, 'dist'), join(folder, 'dist'), { recursive: true });
  cpSync(join(root, 'package.json'), join(folder, 'package.json'));
  symlinkSync(join(root, 'prebuilds'), join(folder, 'prebuilds'), 'junction');
  return folder;
}

async function check(folders: readonly string[]): Promise<void> {
  const [a, b] = (await Promise.all(folders.map(evaluate))) as [Evaluation, Evaluation];
  ok(a.Tensor !== b.Tensor, 'two evaluations');
  const x = a.Tensor.from([1, 2, 3], { dtype: 'float32' });
  // Left to the collector, which must release each instance's own storages.
  (() => {
    for (let i = 0; i < 300; i++) a.Tensor.from([i, i, i], { dtype: 'float32' });
  })();
  const kept = Array.from({ length: 50 }, (_, i) => b.Tensor.from([i, i + 1, i + 2], { dtype: 'float32' }));
  for (let i = 0; i < 10; i++) await collect();
  const more = Array.from({ length: 50 }, (_, i) => b.Tensor.from([i, i, i], { dtype: 'float32' }));
  for (const [i, tensor] of kept.entries()) equal(tensor.copy().toArray(), [i, i + 1, i + 2], `kept ${i}`);
  for (const [i, tensor] of more.entries()) equal(tensor.copy().toArray(), [i, i, i], `more ${i}`);
  equal(x.copy().toArray(), [1, 2, 3]);
  x.astype('float64').dispose();

  // The instances exchange tensors like separate libraries: the same memory, released by the last owner.
  const y = b.fromDLPack({ [b.DLPACK]: () => x[a.DLPACK]({ native: true } as never) });
  y.set(0, 7);
  equal(x.get(0), 7);
  const z = a.importManaged(b.exportManaged(y));
  x.dispose();
  y.dispose();
  equal(z.toArray(), [7, 2, 3]);
  z.dispose();
  for (const tensor of [...kept, ...more]) tensor.dispose();
  equal(a.liveCounts().storages, b.liveCounts().storages);
}

if (isMainThread) {
  const top = mkdtempSync(join(tmpdir(), 'dlpack-two-'));
  try {
    const folders = [install(top, 'a'), install(top, 'b')];
    await check(folders);
    for (let round = 0; round < 2; round++) {
      const worker = new Worker(new URL(import.meta.url), { workerData: folders });
      await new Promise<void>((resolve, reject) => {
        worker.on('message', () => void worker.terminate());
        worker.on('error', reject);
        worker.on('exit', () => resolve());
      });
    }
    await check(folders);
    console.log('apart');
  } finally {
    rmSync(top, { recursive: true, force: true });
  }
} else {
  await check(workerData as string[]);
  parentPort?.postMessage('done');
}
