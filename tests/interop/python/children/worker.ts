/** Uses Python on this thread, leaves objects alive, and ends in the given way. */

import { parentPort, workerData } from 'node:worker_threads';
import { fromDLPack, Tensor } from 'dlpack';
import { python } from 'dlpack/python';

const py = python();
const np = py.import('numpy');
const x = Tensor.from([1, 2, 3], { dtype: 'float32' });
const kept = [py.tensor(x, np.ndarray), np.from_dlpack(x), py.tensor(x), fromDLPack(np.arange(4))];
const sum = py.callTensor(np.add, x, kept[0]).toArray();
(globalThis as { kept?: unknown }).kept = kept;
parentPort?.postMessage(sum);
if (workerData === 'wait') setInterval(() => np.zeros(1), 1);
