/** A worker that is terminated while models load. */

import { parentPort } from 'node:worker_threads';
import { loadSession } from 'dlpack/onnxruntime';
import { chain } from './chain.js';
import './library.js';

for (let i = 0; i < 3; i++) void loadSession(chain(20_000, 16));
parentPort?.postMessage('loading');
setInterval(() => {}, 1000);
