/** A worker that uses the table of global functions, tensors and callbacks, then leaves some alive. */

import { parentPort, workerData } from 'node:worker_threads';
import { Tensor } from 'dlpack';
import { getGlobalFunc, loadModule, registerGlobalFunc } from 'dlpack/tvm-ffi';

const { id, testingPath } = workerData as { id: number; testingPath: string };
loadModule(testingPath);
const kept: unknown[] = [];
let sum = 0;
for (let i = 0; i < 200; i++) {
  registerGlobalFunc(`dlpack.worker.${id}.${i}`, (x: number) => x + id);
  sum += getGlobalFunc(`dlpack.worker.${id}.${i}`)(i) as number;
  const x = Tensor.from([i, id], { dtype: 'float32' });
  const y = getGlobalFunc('testing.apply')((z: Tensor) => z, x) as Tensor<'float32'>;
  sum += y.get(0);
  if (i % 10 === 0) kept.push(x, y);
}
parentPort?.postMessage({ sum, kept: kept.length });
