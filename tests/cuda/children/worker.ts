/** Uses a device in a worker, posts a device tensor, and ends with everything alive. */

import { parentPort, workerData } from 'node:worker_threads';
import { Tensor } from 'dlpack';
import { CudaEvent, loadDriver, Stream } from 'dlpack/cuda';
import { shareTensor } from 'dlpack/shared';

loadDriver({ path: workerData as string });
const stream = new Stream();
const event = new CudaEvent();
const x = stream.use(() => {
  const made = Tensor.zeros([4], 'float32', { device: 'cuda:0' });
  made.fill(2);
  return made;
});
event.record(stream);
// Casts that have not run when the worker ends: the source is released, the result is kept, and a promise waits.
const casts = stream.use(() => {
  using source = Tensor.zeros([1 << 12], 'float32', { device: 'cuda:0' });
  void x.astypeAsync('float16');
  return [source.astype('bfloat16'), source.astype('float8_e5m2')];
});
const kept = [
  casts,
  stream,
  event,
  x,
  Tensor.empty([8], 'int8', { device: 'cuda_host' }),
  Tensor.zeros([1 << 20], 'float32', { device: 'cuda:0' }),
];
parentPort?.postMessage(shareTensor(x));
setInterval(() => kept.length, 1000);
