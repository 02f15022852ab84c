/** A worker that fuzzes until it is terminated. */

import { parentPort, workerData } from 'node:worker_threads';
import { fuzzCore } from './core.js';

parentPort?.postMessage('started');
for (let seed = workerData as number; ; seed++) fuzzCore(seed, 200, () => {});
