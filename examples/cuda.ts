/** Tensors on a GPU: copies, streams, and an event loop that is not blocked. Without a GPU it prints that. */

import { Tensor } from 'dlpack';
import { devices, Stream } from 'dlpack/cuda';
import { emptyCache } from 'dlpack/debug';

const [gpu] = devices();
if (gpu === undefined) {
  console.log('Skipped: no CUDA device.');
} else {
  console.log(gpu.name);
  const host = Tensor.from(
    Float32Array.from({ length: 6 }, (_, i) => i),
    { shape: [2, 3] },
  );
  using x = host.to('cuda:0');
  using turned = x.transpose().copy();
  console.log(turned.to('cpu').toArray()); // [ [ 0, 3 ], [ 1, 4 ], [ 2, 5 ] ]

  using stream = new Stream();
  using large = Tensor.empty([2 ** 26], 'float32', { device: 'cuda:0' });
  stream.use(() => {
    for (let i = 0; i < 100; i++) large.fill(i);
  });
  let ticks = 0;
  const timer = setInterval(() => ticks++, 1);
  await stream.done();
  clearInterval(timer);
  console.log(large.slice([0, 3]).to('cpu').toArray(), ticks > 0); // [ 99, 99, 99 ] true
  emptyCache();
}
