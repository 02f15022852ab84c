/** Opens memory in a worker, posts its values, and stays until it is ended with the memory open. */

import { parentPort, workerData } from 'node:worker_threads';
import { loadDriver, openShared, type SharedMemory } from 'dlpack/cuda';

const { path, shared } = workerData as { path: string; shared: SharedMemory };
loadDriver({ path });
const opened = openShared(shared);
parentPort?.postMessage(opened.to('cpu').toArray());
setInterval(() => opened.device, 1000);
