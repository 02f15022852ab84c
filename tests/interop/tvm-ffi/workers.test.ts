import { Worker } from 'node:worker_threads';
import { stats } from 'dlpack/native';
import { getGlobalFunc } from 'dlpack/tvm-ffi';
import { equal, ok } from '../../assert.js';
import { collectUntil, runtime, testWith } from '../../harness.js';
import { ffiMissing, libraries, raises, testing } from './peer.js';

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
    const before = stats();
    const results = await Promise.all([1, 2, 3, 4].map(runWorker));
    const sums = [1, 2, 3, 4].map((id) => 2 * ((199 * 200) / 2) + 200 * id);
    equal(
      results.map((result) => result.sum),
      sums,
    );
    ok(
      await collectUntil(() => stats().storages <= before.storages && stats().exports <= before.exports),
      JSON.stringify({ before, now: stats() }),
    );
    const orphan = getGlobalFunc('dlpack.worker.1.0');
    raises('RuntimeError', 'after its end', () => orphan(1));
  },
);

async function terminateInsideCalls(): Promise<void> {
  testing('nop');
  const before = stats();
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
    await collectUntil(() => stats().storages <= before.storages && stats().exports <= before.exports),
    JSON.stringify({ before, now: stats() }),
  );
  equal(testing('add_one')(1), 2);
}

// Deno does not stop a worker that never returns to its event loop.
if (runtime !== 'deno') {
  testWith(ffiMissing, 'workers that are terminated inside calls leave nothing behind', terminateInsideCalls);
}
