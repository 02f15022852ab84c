/** Starts processes in every way, on this thread and in a worker, while a Python library computes on other threads. */

import { execFile, fork, spawn, spawnSync } from 'node:child_process';
import cluster from 'node:cluster';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { isMainThread, Worker, workerData } from 'node:worker_threads';
import { callAsync, python } from 'dlpack/python';

const self = fileURLToPath(import.meta.url);
/** A function without arguments for each library, which computes for some milliseconds without the GIL. */
const computations: { [library: string]: string } = {
  numpy: `
import numpy
x = numpy.ones((300, 300))
compute = lambda: numpy.matmul(x, x)
`,
  scipy: `
import numpy, scipy.linalg
x = numpy.ones((300, 300), order='F') + numpy.eye(300)
compute = lambda: scipy.linalg.solve(x, x)
`,
  torch: `
import torch
x = torch.ones(300, 300)
compute = lambda: torch.matmul(x, x)
`,
};

async function run(library: string): Promise<void> {
  const py = python({ threads: 4 });
  py.exec(computations[library] ?? '');
  const { compute } = py.import('__main__');
  let ended = 0;
  let isOver = false;
  const loops = Array.from({ length: 4 }, async () => {
    for (; !isOver; ended++) (await callAsync(compute))[Symbol.dispose]();
  });
  const progress = async () => {
    for (const before = ended; ended === before; ) await new Promise((resolve) => setTimeout(resolve, 1));
  };
  const ways: { [name: string]: () => unknown } = {
    spawn: () => once(spawn('true'), 'exit'),
    execFile: () => new Promise((resolve) => execFile('true', resolve)),
    spawnSync: () => spawnSync('true'),
    fork: () => once(fork(self, ['nothing']), 'exit'),
  };
  // Other runtimes have no cluster, and no worker has one.
  if (isMainThread && !('Deno' in globalThis) && !('Bun' in globalThis)) {
    cluster.setupPrimary({ exec: self, args: ['nothing'] });
    ways['cluster.fork'] = () => once(cluster.fork(), 'exit');
  }
  for (const [name, way] of Object.entries(ways)) {
    for (let i = 0; i < (name.includes('fork') ? 1 : 4); i++) {
      await progress();
      await way();
    }
  }
  if (isMainThread) await once(new Worker(self, { workerData: library }), 'exit');
  await progress();
  isOver = true;
  await Promise.all(loops);
  console.log(`${isMainThread ? 'the main thread' : 'a worker'} and ${library} went on`);
}

if (!isMainThread) await run(workerData);
else if (process.argv[2] !== 'nothing') await run(process.argv[2] ?? '');
else process.disconnect?.();
