/** A worker that never ends by itself: calls, callbacks and tensors without pause. */

import { parentPort, workerData } from 'node:worker_threads';
import { Tensor } from 'dlpack';
import { getGlobalFunc, loadModule } from 'dlpack/tvm-ffi';

loadModule((workerData as { testingPath: string }).testingPath);
const apply = getGlobalFunc('testing.apply');
const echo = getGlobalFunc('testing.echo');
const x = Tensor.from([1, 2], { dtype: 'float32' });
parentPort?.postMessage('started');
for (;;) apply((y: Tensor) => echo([y, 'a string of some length', x]), x);
