/** Exits with device memory, streams, events and queued work alive, and with a pending wait for them. */

import { Tensor } from 'dlpack';
import { CudaEvent, loadDriver, Stream } from 'dlpack/cuda';
import { fakeDriverPath } from '../fake.js';

loadDriver({ path: fakeDriverPath });
const stream = new Stream();
const x = Tensor.zeros([1 << 20], 'float32', { device: 'cuda:0' });
const pinned = Tensor.empty([8], 'float32', { device: 'cuda_host' });
stream.use(() => x.fill(1));
const event = new CudaEvent().record(stream);
void stream.done();
// Casts that have not run: one that waits for its result, one whose result nothing holds.
stream.use(() => {
  void x.astypeAsync('float16');
  x.astype('float8_e4m3fn');
  x.astype('bfloat16').dispose();
});
// Released while work on it is queued, so the watcher holds it.
stream.use(() => void pinned.toAsync('cuda:0'));
pinned.dispose();
setTimeout(() => {
  console.log('leaving with', x.device, event.isDone);
  process.exit(0);
}, 20);
