/** A worker that fuzzes until it is terminated. */

import { parentPort, workerData } from 'node:worker_threads';

const { suite, first } = workerData as { suite: 'core' | 'python' | 'tvm-ffi'; first: number };
const fuzzers = {
  core: async () => (await import('./core.js')).fuzzCore,
  python: async () => (await import('./python.js')).fuzzPython,
  'tvm-ffi': async () => (await import('./tvm-ffi.js')).fuzzTvmFfi,
};
const fuzz = await fuzzers[suite]();
await fuzz(first, 1, () => {}); // loads the peer
parentPort?.postMessage('started');
for (let seed = first; ; seed++) await fuzz(seed, 200, () => {});
