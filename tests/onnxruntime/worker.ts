/** A worker that is terminated during its runs. */

import { parentPort } from 'node:worker_threads';
import { Tensor } from 'dlpack';
import { loadSession } from 'dlpack/onnxruntime';
import { chain } from './chain.js';
import './library.js';

const session = await loadSession(chain(20_000, 256), { threads: 1 });
const x = Tensor.zeros([256, 256], 'float32');
for (let i = 0; i < 4; i++) void session.run({ x });
parentPort?.postMessage('running');
setInterval(() => {}, 1000);
