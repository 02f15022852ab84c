/** The thread that starts after builtin functions were replaced. */

import { parentPort } from 'node:worker_threads';
import { probe } from '../peer.js';

probe('keep')([4, 5]);
parentPort?.postMessage(probe('kept')());
