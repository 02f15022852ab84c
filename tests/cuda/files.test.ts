/** Files straight to a device: through pinned blocks, in order, with everything released whatever goes wrong. */

import { readFileSync, truncateSync, writeFileSync } from 'node:fs';
import { Tensor } from 'dlpack';
import { openNpy, openSafetensors, type Progress, writeNpy, writeSafetensors } from 'dlpack/files';
import { equal, ok, rejects } from '../assert.js';
import { newPath } from '../files/make.js';
import { collectUntil } from '../harness.js';
import { code, fake } from './fake.js';
import { cudaTest } from './machine.js';

const count = 5_000_000; // float64: 40 MB, three blocks
const values = Float64Array.from({ length: count }, (_, i) => i);
const path = newPath('model.safetensors');
{
  using big = Tensor.from(values);
  using small = Tensor.from([1, 2, 3], { dtype: 'int8' });
  using empty = Tensor.zeros([0, 3], 'float32');
  await writeSafetensors(path, { big, small, empty });
}

cudaTest('a mapped tensor is copied to the device, and no host memory remains', async () => {
  fake.configure({ queriesRun: true });
  using file = openSafetensors(path);
  const progress: Progress[] = [];
  const pinned = fake.live().pinned;
  using there = await file.getAsync('big', { device: 'cuda:1', onProgress: (p) => void progress.push(p) });
  equal([there.device, there.shape, there.readonly], ['cuda:1', [count], false]);
  equal(fake.live().pinned, pinned, 'pinned blocks are back');
  using back = there.to('cpu');
  equal(Buffer.compare(new Uint8Array(back.data.buffer), new Uint8Array(values.buffer)), 0);
  ok(progress.length >= 3 && progress.every(({ loaded }, i) => loaded >= (progress[i - 1]?.loaded ?? 0)));
  equal(progress.at(-1), { name: 'big', loaded: count * 8, total: count * 8 });
});

cudaTest('all tensors at once', async () => {
  fake.configure({ queriesRun: true });
  using file = openSafetensors(path);
  const all = await file.getAllAsync({ device: 'cuda:0' });
  equal(
    [...all.values()].map(({ device }) => device),
    ['cuda:0', 'cuda:0', 'cuda:0'],
  );
  equal(all.get('empty')?.shape, [0, 3]);
  const small = all.get('small') as Tensor;
  using back = small.to('cpu');
  equal(back.toArray(), [1, 2, 3]);
  for (const tensor of all.values()) tensor.dispose();
});

cudaTest('a Blob, and an array in Fortran order', async () => {
  fake.configure({ queriesRun: true });
  using file = await openSafetensors(new Blob([readFileSync(path)]));
  using there = await file.getAsync('small', { device: 'cuda:0' });
  using back = there.to('cpu');
  equal(back.toArray(), [1, 2, 3]);
  const array = newPath('x.npy');
  using rows = Tensor.from([
    [1, 2, 3],
    [4, 5, 6],
  ]);
  using columns = rows.transpose();
  await writeNpy(array, columns);
  using mapped = openNpy(array);
  using device = mapped.to('cuda:0');
  using again = device.to('cpu');
  equal(again.toArray(), columns.toArray());
});

cudaTest('written from the device', async () => {
  fake.configure({ queriesRun: true });
  using host = Tensor.from(
    [
      [1, 2],
      [3, 4],
    ],
    { dtype: 'float32' },
  );
  using there = host.to('cuda:0');
  const copy = newPath('copy.safetensors');
  await writeSafetensors(copy, { there });
  using file = openSafetensors(copy);
  equal(file.get('there').toArray(), [
    [1, 2],
    [3, 4],
  ]);
});

cudaTest("a signal stops between blocks, and too little device memory throws the driver's error", async () => {
  fake.configure({ queriesRun: true });
  using file = openSafetensors(path);
  const controller = new AbortController();
  const stopped = file.getAsync('big', {
    device: 'cuda:0',
    signal: controller.signal,
    onProgress: () => controller.abort(new Error('enough')),
  });
  equal(await stopped.catch((error: Error) => error.message), 'enough');
  fake.failNext('cuMemHostAlloc', code.outOfMemory, 1); // the second of the two blocks
  await rejects('CudaError', 'OUT_OF_MEMORY', file.getAsync('big', { device: 'cuda:0' }));
});

cudaTest(
  'tensors that follow each other share blocks, and large blocks are kept for the next upload, for a while',
  async () => {
    fake.configure({ queriesRun: true });
    const many = newPath('many.safetensors');
    const sources = Array.from({ length: 40 }, (_, i) => Tensor.from(new Uint8Array(1000 + i).fill(i)));
    await writeSafetensors(many, Object.fromEntries(sources.map((tensor, i) => [`t${i}`, tensor])));
    using file = openSafetensors(many);
    const before = fake.calls('cuMemHostAlloc');
    const all = await file.getAllAsync({ device: 'cuda:0' });
    ok(fake.calls('cuMemHostAlloc') - before <= 3, 'blocks for all together');
    for (const [i, source] of sources.entries()) {
      const there = all.get(`t${i}`) as Tensor;
      using back = there.to('cpu');
      equal([back.size, back.get(0), back.get(999 + i)], [source.size, i, i]);
      there.dispose();
      source.dispose();
    }
    // A hole of 97 MiB takes no space, and needs blocks of the full size.
    const large = newPath('large.safetensors');
    const size = 97 << 20;
    const header = JSON.stringify({ x: { dtype: 'U8', shape: [size], data_offsets: [0, size] } }).padEnd(120);
    writeFileSync(large, Buffer.concat([Buffer.from(BigUint64Array.of(120n).buffer), Buffer.from(header)]));
    truncateSync(large, 128 + size);
    const { pinned } = fake.live();
    const made = fake.calls('cuMemHostAlloc');
    for (let round = 0; round < 2; round++) {
      using holder = openSafetensors(large);
      using x = await holder.getAsync('x', { device: 'cuda:0' });
      equal(x.size, size);
    }
    ok(fake.calls('cuMemHostAlloc') - made <= 3, 'the second upload took the blocks of the first');
    ok(await collectUntil(() => fake.live().pinned === pinned), 'released after a second');
  },
);
