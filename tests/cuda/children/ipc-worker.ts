/** Opens memory in a worker several times, posts its values, and runs until it is terminated with the memory open. */

import { parentPort, workerData } from 'node:worker_threads';
import { loadDriver } from 'dlpack/cuda';
import { openTensor, type TensorDescription } from 'dlpack/shared';

const { path, shared, rounds } = workerData as { path: string; shared: TensorDescription; rounds: number };
loadDriver({ path });
for (let i = 0; i < rounds; i++) openTensor(shared).dispose();
const opened = openTensor(shared);
parentPort?.postMessage(opened.to('cpu').toArray());
setInterval(() => opened.device, 1000);
