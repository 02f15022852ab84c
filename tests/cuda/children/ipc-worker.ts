/** Opens memory in a worker, so many times and once more, posts its values, and stays until it is ended with the memory open. */

import { parentPort, workerData } from 'node:worker_threads';
import { loadDriver, openShared, type SharedMemory } from 'dlpack/cuda';

const { path, shared, rounds } = workerData as { path: string; shared: SharedMemory; rounds: number };
loadDriver({ path });
for (let i = 0; i < rounds; i++) openShared(shared).dispose();
const opened = openShared(shared);
parentPort?.postMessage(opened.to('cpu').toArray());
setInterval(() => opened.device, 1000);
