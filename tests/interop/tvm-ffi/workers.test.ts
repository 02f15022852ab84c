import { Worker } from 'node:worker_threads';
import { liveCounts } from 'dlpack/debug';
import { type FFIObject, getGlobalFunc, isInstance, List } from 'dlpack/tvm-ffi';
import { equal, ok } from '../../assert.js';
import { collectUntil, runtime, testWith } from '../../harness.js';
import { ffiMissing, kernelsMissing, libraries, probe, probePath, raises, testing } from './peer.js';

/** Runs a worker to its end; resolves to its only message. */
function runWorker(id: number): Promise<{ sum: number; kept: number }> {
  const workerData = { id, testingPath: `${libraries}/libtvm_ffi_testing.so` };
  const worker = new Worker(new URL('./children/worker.js', import.meta.url), { workerData });
  return new Promise((resolve, reject) => {
    let message: { sum: number; kept: number };
    worker.once('message', (value) => {
      message = value;
    });
    worker.once('error', reject);
    worker.once('exit', (code) => (code === 0 ? resolve(message) : reject(new Error(`worker ended with ${code}`))));
  });
}

testWith(
  ffiMissing,
  'workers share the table of functions, and their references are released when they end',
  async () => {
    testing('nop');
    const before = liveCounts();
    const results = await Promise.all([1, 2, 3, 4].map(runWorker));
    const sums = [1, 2, 3, 4].map((id) => 2 * ((199 * 200) / 2) + 200 * id);
    equal(
      results.map((result) => result.sum),
      sums,
    );
    ok(
      await collectUntil(() => liveCounts().storages <= before.storages && liveCounts().exports <= before.exports),
      JSON.stringify({ before, now: liveCounts() }),
    );
    const orphan = getGlobalFunc('dlpack.worker.1.0');
    raises('RuntimeError', 'after its end', () => orphan(1));
  },
);

interface Orphan {
  value: number;
  twice(): number;
}

/** Uses the object of a worker while the worker runs and after its end, and releases it in one of three ways. */
async function useOrphan(round: number, release: string): Promise<void> {
  const count = testing('object_use_count');
  const key = `dlpack.test.Orphan${round}`;
  const worker = new Worker(new URL('./children/orphans.js', import.meta.url), { workerData: { key, probePath } });
  const message = await new Promise((resolve, reject) => {
    worker.once('message', resolve);
    worker.once('error', reject);
  });
  equal(message, 2);
  const orphan = probe('kept')() as FFIObject & Orphan;
  ok(isInstance(orphan, key) && probe('kept')() === orphan);
  const refused = () => {
    const uses = count(orphan);
    raises('RuntimeError', 'the JavaScript thread of this object', () => orphan.value);
    raises('RuntimeError', 'the JavaScript thread of this object', () => {
      orphan.value = 1;
    });
    raises('RuntimeError', 'on the JavaScript thread that made this function', () => orphan.twice());
    raises('RuntimeError', 'the JavaScript thread of this object', () => getGlobalFunc('ffi.ReprPrint')(orphan));
    equal(count(orphan), uses);
  };
  refused(); // this is another thread
  const isEarly = round === 2;
  if (isEarly) probe(release)(); // while the worker runs
  const ended = new Promise((resolve) => worker.once('exit', resolve));
  worker.postMessage('end');
  await ended;
  // Deno reports the end of a worker before its thread has ended, which drops what it holds.
  ok(await collectUntil(() => count(orphan) === (isEarly ? 1 : 2)), String(count(orphan)));
  refused();
  const list = new List([orphan]);
  if (!isEarly) probe(release)();
  equal(count(orphan), 2);
  list.clear();
  equal(count(orphan), 1);
}

testWith(
  kernelsMissing,
  "objects of a worker's class while it runs, after its end, and released on any thread",
  async () => {
    testing('nop');
    const before = liveCounts();
    for (const [round, release] of ['forget', 'forget_on_thread', 'forget'].entries()) await useOrphan(round, release);
    // Each of the three types keeps its method as long as the process runs.
    const isReleased = () => liveCounts().imports <= before.imports + 3 && liveCounts().storages <= before.storages;
    ok(await collectUntil(isReleased), JSON.stringify({ before, now: liveCounts() }));
  },
);

async function terminateInsideCalls(): Promise<void> {
  testing('nop');
  const before = liveCounts();
  for (let round = 0; round < 4; round++) {
    const workerData = { testingPath: `${libraries}/libtvm_ffi_testing.so` };
    const worker = new Worker(new URL('./children/busy.js', import.meta.url), { workerData });
    await new Promise((resolve, reject) => {
      worker.once('message', resolve);
      worker.once('error', reject);
    });
    await worker.terminate();
  }
  ok(
    await collectUntil(() => liveCounts().storages <= before.storages && liveCounts().exports <= before.exports),
    JSON.stringify({ before, now: liveCounts() }),
  );
  equal(testing('add_one')(1), 2);
}

// Deno does not stop a worker that never returns to its event loop.
if (runtime !== 'deno') {
  testWith(ffiMissing, 'workers that are terminated inside calls leave nothing behind', terminateInsideCalls);
}
