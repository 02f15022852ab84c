/**
 * Starts processes in every way, on this thread and in a worker, while a Python library computes on other threads. With a
 * number of seconds each thread goes on for so long, and prints its longest gap between two ticks of a timer of 1 ms,
 * except for synchronous starts, beside the longest computation and the longest call that starts a process.
 */

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

/** The longest durations, in milliseconds. */
const longest = { gap: 0, computation: 0, start: 0 };

function note(what: keyof typeof longest, since: number): void {
  longest[what] = Math.max(longest[what], performance.now() - since);
}

/** Calls what starts a process and returns at once. */
function start<T>(begin: () => T): T {
  const since = performance.now();
  const started = begin();
  note('start', since);
  return started;
}

async function run(library: string, seconds: number): Promise<void> {
  const py = python({ threads: 4 });
  py.exec(computations[library] ?? '');
  const { compute } = py.import('__main__');
  let ended = 0;
  let isOver = false;
  const loops = Array.from({ length: 4 }, async () => {
    for (; !isOver; ended++) {
      const since = performance.now();
      (await callAsync(compute))[Symbol.dispose]();
      note('computation', since);
    }
  });
  const progress = async () => {
    for (const before = ended; ended === before; ) await new Promise((resolve) => setTimeout(resolve, 1));
  };
  const ways: { [name: string]: () => unknown } = {
    spawn: () =>
      once(
        start(() => spawn('true')),
        'exit',
      ),
    execFile: () => new Promise((resolve) => start(() => execFile('true', resolve))),
    spawnSync: () => spawnSync('true'),
    fork: () =>
      once(
        start(() => fork(self, ['nothing'])),
        'exit',
      ),
  };
  // Other runtimes have no cluster, and no worker has one.
  if (isMainThread && !('Deno' in globalThis) && !('Bun' in globalThis)) {
    cluster.setupPrimary({ exec: self, args: ['nothing'] });
    ways['cluster.fork'] = () =>
      once(
        start(() => cluster.fork()),
        'exit',
      );
  }
  await progress();
  longest.computation = 0; // the first ones load the library
  let last = performance.now();
  const timer = setInterval(() => {
    note('gap', last);
    last = performance.now();
  }, 1);
  const end = performance.now() + 1000 * seconds;
  let starts = 0;
  do {
    for (const [name, way] of Object.entries(ways)) {
      for (let i = 0; i < (name.includes('fork') ? 1 : 4); i++, starts++) {
        await progress();
        await way();
        if (name === 'spawnSync') last = performance.now();
      }
    }
  } while (performance.now() < end);
  clearInterval(timer);
  if (seconds > 0) console.log(`${starts} starts in ms: ${JSON.stringify(longest)}`);
  if (isMainThread) await once(new Worker(self, { workerData: { library, seconds } }), 'exit');
  await progress();
  isOver = true;
  await Promise.all(loops);
  console.log(`${isMainThread ? 'the main thread' : 'a worker'} and ${library} went on`);
}

if (!isMainThread) await run(workerData.library, workerData.seconds);
else if (process.argv[2] !== 'nothing') await run(process.argv[2] ?? '', Number(process.argv[3] ?? 0));
else process.disconnect?.();
