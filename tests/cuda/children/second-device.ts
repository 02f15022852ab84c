/** A thread that never used a device works on the second device; posts the context that libraries would find there. */

import { parentPort, workerData } from 'node:worker_threads';
import { Tensor } from 'dlpack';
import { loadDriver, Stream, synchronize } from 'dlpack/cuda';
import { fakeDriver, made } from '../fake.js';

loadDriver({ path: workerData as string });
const contexts = [made(fakeDriver, 'cuCtxGetCurrent')];
const x = Tensor.zeros([4, 4], 'float32', { device: 'cuda:1' });
const stream = new Stream({ device: 'cuda:1' });
stream.use(() => x.transpose().copy().dispose());
synchronize('cuda:1');
x.dispose();
stream.dispose();
contexts.push(made(fakeDriver, 'cuCtxGetCurrent'));
parentPort?.postMessage(contexts);
