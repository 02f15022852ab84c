/** Files straight to a device: through pinned blocks, in order, with everything released whatever goes wrong. */

import { readFileSync, truncateSync, writeFileSync } from 'node:fs';
import { Tensor } from 'dlpack';
import { Stream } from 'dlpack/cuda';
import { emptyCache } from 'dlpack/debug';
import {
  openNpySync,
  openSafetensors,
  openSafetensorsSync,
  type Progress,
  writeNpy,
  writeSafetensors,
} from 'dlpack/files';
import { equal, ok, rejects } from '../assert.js';
import { runChild } from '../child.js';
import { fileOf, newPath } from '../files/make.js';
import { collectUntil, runtime, testWith } from '../harness.js';
import { code, fake, fakeDriverPath, fakeMissing } from './fake.js';
import { cudaTest } from './machine.js';

/** False in the child of the last test, whose driver makes each copy by itself. */
const hasBatches = process.env.FAKE_CUDA === undefined;
const copySymbol = hasBatches ? 'cuMemcpyBatchAsync_v2' : 'cuMemcpyAsync';

/** A test after which the pinned memory that uploads keep is released. */
function uploadTest(name: string, body: () => Promise<void>): void {
  cudaTest(name, async () => {
    try {
      await body();
    } finally {
      emptyCache();
    }
  });
}

const count = 5_000_000; // float64: 40 MB, two steps
const values = Float64Array.from({ length: count }, (_, i) => i);
const path = newPath('model.safetensors');
{
  using big = Tensor.from(values);
  using small = Tensor.from([1, 2, 3], { dtype: 'int8' });
  using empty = Tensor.zeros([0, 3], 'float32');
  await writeSafetensors(path, { big, small, empty });
}

const sizes = Array.from({ length: 150 }, (_, i) => 1000 + i);
const many = newPath('many.safetensors');
{
  const sources = sizes.map((size, i) => Tensor.from(new Uint8Array(size).fill(i)));
  await writeSafetensors(many, Object.fromEntries(sources.map((tensor, i) => [`t${i}`, tensor])));
  for (const source of sources) source.dispose();
}

uploadTest('a mapped tensor is copied to the device, and no host memory remains', async () => {
  fake.configure({ queriesRun: true });
  using file = openSafetensorsSync(path);
  const progress: Progress[] = [];
  const pinned = fake.live().pinned;
  using there = await file.getAsync('big', { device: 'cuda:1', onProgress: (p) => void progress.push(p) });
  equal([there.device, there.shape, there.isReadOnly], ['cuda:1', [count], false]);
  ok(fake.live().pinned > pinned, 'kept for the next upload');
  emptyCache();
  equal(fake.live().pinned, pinned);
  using back = there.to('cpu');
  equal(Buffer.compare(new Uint8Array(back.data.buffer), new Uint8Array(values.buffer)), 0);
  ok(progress.length >= 2 && progress.every(({ loaded }, i) => loaded >= (progress[i - 1]?.loaded ?? 0)));
  equal(progress.at(-1), { name: 'big', loaded: count * 8, total: count * 8 });
});

uploadTest('all tensors at once', async () => {
  fake.configure({ queriesRun: true });
  using file = openSafetensorsSync(path);
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

uploadTest('a Blob, and an array in Fortran order', async () => {
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
  using mapped = openNpySync(array);
  using device = mapped.to('cuda:0');
  using again = device.to('cpu');
  equal(again.toArray(), columns.toArray());
});

uploadTest('written from the device', async () => {
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
  using file = openSafetensorsSync(copy);
  equal(file.get('there').toArray(), [
    [1, 2],
    [3, 4],
  ]);
});

uploadTest('a signal stops between steps; errors of the device end the upload and leave nothing', async () => {
  fake.configure({ queriesRun: true });
  using file = openSafetensorsSync(path);
  const controller = new AbortController();
  const stopped = file.getAsync('big', {
    device: 'cuda:0',
    signal: controller.signal,
    onProgress: () => controller.abort(new Error('enough')),
  });
  equal(await stopped.catch((error: Error) => error.message), 'enough');
  const live = () => {
    emptyCache();
    const { pool, events, pinned, streams } = fake.live();
    return { pool, events, pinned, streams };
  };
  const before = live();
  for (const [symbol, skip] of [
    ['cuMemAllocFromPoolAsync', 0],
    ['cuEventCreate', 1],
    ['cuMemcpyAsync', 0],
    ['cuMemcpyAsync', 7],
    ['cuEventRecord', 3],
    ['cuEventSynchronize', 2],
    ['cuMemHostAlloc', 0],
  ] as const) {
    fake.failNext(symbol, code.notSupported, skip);
    await rejects('CudaError', 'NOT_SUPPORTED', file.getAsync('big', { device: 'cuda:0' }));
    equal(live(), before, `${symbol} ${skip}`);
  }
  using tensors = openSafetensorsSync(many);
  for (const [symbol, skip] of [
    ...(hasBatches
      ? []
      : ([
          [copySymbol, 0],
          [copySymbol, 1],
        ] as const)),
    ['cuStreamWaitEvent', 0],
    ['cuStreamWaitEvent', 1],
    ['cuStreamCreateWithPriority', 0],
  ] as const) {
    fake.failNext(symbol, code.notSupported, skip);
    await rejects('CudaError', 'NOT_SUPPORTED', tensors.getAllAsync({ device: 'cuda:0' }));
    equal(live(), before, `${symbol} ${skip}`);
  }
  const failed = file.getAsync('big', {
    device: 'cuda:0',
    onProgress() {
      throw new Error('from the program');
    },
  });
  equal(await failed.catch((error: Error) => error.message), 'from the program');
  equal(live(), before);
  using there = await file.getAsync('big', { device: 'cuda:0' });
  using last = there.slice([count - 1, count]).to('cpu');
  equal(last.toArray(), [count - 1]);
});

uploadTest('copies of a batch that the driver refuses are made one by one', async () => {
  if (!hasBatches) return;
  fake.configure({ queriesRun: true });
  using file = openSafetensorsSync(many);
  fake.failNext(copySymbol, code.notSupported);
  const copies = fake.calls('cuMemcpyAsync');
  const all = await file.getAllAsync({ device: 'cuda:0' });
  ok(fake.calls('cuMemcpyAsync') - copies > 1, 'copies of the refused batch');
  for (const [i, size] of sizes.entries()) {
    using there = all.get(`t${i}`) as Tensor;
    using back = there.to('cpu');
    equal([back.size, back.get(0), back.get(size - 1)], [size, i, i]);
  }
});

uploadTest('pinned memory that cannot be had is an error', async () => {
  fake.configure({ queriesRun: true });
  using file = openSafetensorsSync(path);
  fake.failNext('cuMemHostAlloc', code.outOfMemory);
  await rejects('CudaError', 'OUT_OF_MEMORY', file.getAsync('big', { device: 'cuda:0' }));
});

uploadTest(
  'a stream of the program: the upload is on it, behind its work, also if it is disposed meanwhile',
  async () => {
    fake.configure({ queriesRun: true });
    using file = openSafetensorsSync(path);
    const stream = new Stream();
    const { handle } = stream;
    using blob = await openSafetensors(new Blob([readFileSync(path)]));
    for (const source of [file, blob]) {
      fake.delay(handle);
      let hasArrived = false;
      const arriving = stream.use(() => source.getAsync('small', { device: 'cuda:0' }));
      const noted = arriving.then(() => {
        hasArrived = true;
      });
      if (source === blob) stream.dispose();
      // The copies are on a stream of the upload, and this stream waits for them.
      const isQueued = await collectUntil(() => fake.pending(handle).includes('wait'));
      // Longer than the pinned memory is kept, which the copy has not read yet.
      await new Promise((resolve) => setTimeout(resolve, 1200));
      const queued = fake.pending(handle);
      fake.release(handle);
      ok(isQueued && !hasArrived, queued.join());
      await noted;
      using there = await arriving;
      using back = there.to('cpu');
      equal(back.toArray(), [1, 2, 3]);
    }
  },
);

uploadTest('a stream that is captured into a graph is refused', async () => {
  fake.configure({ queriesRun: true });
  using file = openSafetensorsSync(path);
  const stream = new Stream();
  fake.beginCapture(stream.handle);
  try {
    await rejects(
      'CudaError',
      'CAPTURE_UNSUPPORTED',
      stream.use(() => file.getAsync('small', { device: 'cuda:0' })),
    );
  } finally {
    fake.endCapture(stream.handle);
    stream.dispose();
  }
});

uploadTest(
  'tensors that follow each other share pinned memory, which is kept for the next upload, for a while',
  async () => {
    fake.configure({ queriesRun: true });
    using file = openSafetensorsSync(many);
    const [before, copies] = [fake.calls('cuMemHostAlloc'), fake.calls('cuMemcpyAsync')];
    const all = await file.getAllAsync({ device: 'cuda:0' });
    ok(fake.calls('cuMemHostAlloc') - before <= 1, 'pinned memory for all together');
    const single = fake.calls('cuMemcpyAsync') - copies;
    if (hasBatches) ok(single < sizes.length && fake.calls(copySymbol) > 0, 'several tensors in one batch');
    else ok(single >= sizes.length, 'a copy for each tensor');
    for (const [i, size] of sizes.entries()) {
      const there = all.get(`t${i}`) as Tensor;
      using back = there.to('cpu');
      equal([back.size, back.get(0), back.get(size - 1)], [size, i, i]);
      there.dispose();
    }
    // A hole of 97 MiB takes no space.
    const large = newPath('large.safetensors');
    const size = 97 << 20;
    const header = JSON.stringify({ x: { dtype: 'U8', shape: [size], data_offsets: [0, size] } }).padEnd(120);
    writeFileSync(large, Buffer.concat([Buffer.from(BigUint64Array.of(120n).buffer), Buffer.from(header)]));
    truncateSync(large, 128 + size);
    const made = async (): Promise<number> => {
      const earlier = fake.calls('cuMemHostAlloc');
      using holder = openSafetensorsSync(large);
      using x = await holder.getAsync('x', { device: 'cuda:0' });
      equal(x.size, size);
      return fake.calls('cuMemHostAlloc') - earlier;
    };
    await made();
    // A busy machine may take a second between two uploads, which is the time that the memory is kept.
    let again = await made();
    for (let i = 0; i < 10 && again > 0; i++) again = await made();
    equal(again, 0, 'an upload took the memory of the one before');
    ok(await collectUntil(() => fake.live().pinned === 0), 'released after a second');
  },
);

// Deno does not run the cleanup hooks of a worker that ends during asynchronous work of an addon.
if (runtime !== 'deno') {
  cudaTest('a worker that ends in the middle of an upload leaves nothing behind', () => {
    const { code: status, signal, output } = runChild(import.meta.url, './children/upload-ends.js', { args: [path] });
    equal([status, signal, output], [0, null, 'released\n']);
  });
}

const elf = process.platform === 'linux' ? fakeMissing : 'a driver as an ELF file, whose functions can be renamed';

// Node alone, because the runtime makes no difference.
if (runtime === 'node' && hasBatches) {
  testWith(elf, 'the same with a driver without batches of copies, as before CUDA 13', () => {
    const driver = readFileSync(fakeDriverPath, 'latin1');
    const older = driver.replaceAll('cuMemcpyBatchAsync_v2', 'cuMemcpyBatchAsync_v0');
    ok(older !== driver);
    const env = { FAKE_CUDA: fileOf(Buffer.from(older, 'latin1'), 'older_cuda.node') };
    const { code: status, output } = runChild(import.meta.url, './files.test.js', { env });
    ok(/RESULT \{"passed":[1-9]\d*,"failed":0,"skipped":0\}/.test(output), output);
    equal(status, 0);
  });
}
