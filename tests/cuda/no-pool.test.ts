import { Tensor } from 'dlpack';
import { devices, Stream } from 'dlpack/cuda';
import { equal } from '../assert.js';
import { fake } from './fake.js';
import { cudaTest } from './machine.js';

// Before the first use: memory of this device is not stream-ordered, so it has no allocation stream.
fake.setAttribute(1, 115, 0);

const numbers = Float32Array.from({ length: 64 * 32 }, (_, i) => i);

cudaTest('a stream that is disposed while another thread queues a copy on it stays alive', async () => {
  equal(devices()[1]?.hasMemoryPool, false);
  fake.configure({ queriesRun: true });
  const wrapped = Tensor.wrap(numbers, { shape: [64, 32] });
  for (const source of [wrapped, Tensor.from(wrapped), wrapped.to('cuda_host')]) {
    for (const view of [source, source.transpose()]) {
      const up = new Stream({ device: 'cuda:1' });
      const uploading = up.use(() => view.toAsync('cuda:1'));
      up.dispose();
      const there = await uploading;
      const down = new Stream({ device: 'cuda:1' });
      const downloading = down.use(() => there.transpose().toAsync('cpu'));
      down.dispose();
      there.dispose();
      equal((await downloading).toArray(), view.transpose().toArray());
    }
  }
});
