/** Large tensors to a device: through the pinned memory that files use, whoever asks, with everything released. */

import { Tensor } from 'dlpack';
import { Stream } from 'dlpack/cuda';
import { emptyCache, liveCounts } from 'dlpack/debug';
import { openSafetensorsSync, writeSafetensors } from 'dlpack/files';
import { equal, rejects, throws } from '../assert.js';
import { newPath } from '../files/make.js';
import { code, fake } from './fake.js';
import { cudaTest } from './machine.js';

const count = 5_000_000; // float64: 40 MB
const values = Float64Array.from({ length: count }, (_, i) => i);
const path = newPath('model.safetensors');
{
  using big = Tensor.from(values);
  using small = Tensor.from([1, 2, 3], { dtype: 'int8' });
  await writeSafetensors(path, { big, small });
}

/** A test after which the pinned memory that uploads keep is released. */
function uploadTest(name: string, body: () => void | Promise<void>): void {
  cudaTest(name, async () => {
    fake.configure({ queriesRun: true });
    try {
      await body();
    } finally {
      emptyCache();
    }
  });
}

/** How often an action pinned memory or took pinned memory of an earlier upload: 0, if it has another way. */
function pinnedBy(action: () => Tensor): number {
  emptyCache();
  const before = fake.calls('cuMemHostAlloc');
  action().dispose();
  return fake.calls('cuMemHostAlloc') - before;
}

function checkValues(there: Tensor): void {
  using back = there.to('cpu');
  equal(Buffer.compare(new Uint8Array(back.data.buffer), new Uint8Array(values.buffer)), 0);
}

/** What is alive. Pinned memory that is kept for the next upload is released first. */
function live(): object {
  emptyCache();
  const { pool, events, pinned, streams } = fake.live();
  return { pool, events, pinned, streams, storages: liveCounts().storages };
}

uploadTest('a tensor of a mapped file, with to() and toAsync()', async () => {
  const before = live();
  {
    using file = openSafetensorsSync(path);
    using big = file.get('big');
    const pins = fake.calls('cuMemHostAlloc');
    using there = big.to('cuda:1');
    equal([there.device, fake.calls('cuMemHostAlloc') - pins], ['cuda:1', 1]);
    checkValues(there);
    using again = await big.toAsync('cuda:1');
    checkValues(again);
  }
  equal(live(), before, 'free at once');
});

uploadTest(
  'other memory of native code, also if it has to be packed first; few bytes and JavaScript memory directly',
  () => {
    using big = Tensor.from(values);
    using columns = big.reshape([2, count / 2]).transpose();
    using few = big.slice([0, 1000]);
    using wrapped = Tensor.wrap(values);
    equal(
      [big, columns, few, wrapped].map((tensor) => pinnedBy(() => tensor.to('cuda:0'))),
      [1, 1, 0, 0],
    );
    using there = columns.to('cuda:0');
    using back = there.to('cpu');
    equal([back.get(0, 1), back.get(1, 0), back.get(count / 2 - 1, 1)], [count / 2, 1, count - 1]);
  },
);

uploadTest('a part of a tensor into a part of another', () => {
  using big = Tensor.from(values);
  using target = Tensor.zeros([count + 2], 'float64').to('cuda:0');
  using middle = target.slice([3, count]);
  using source = big.slice([2, count - 1]);
  equal(
    pinnedBy(() => middle.copyFrom(source).share()),
    1,
  );
  using back = target.to('cpu');
  equal(
    [2, 3, count - 1, count].map((i) => back.get(i)),
    [0, 2, count - 2, 0],
  );
});

uploadTest('the file is disposed during the upload, which keeps the memory until it has been read', async () => {
  const before = live();
  const file = openSafetensorsSync(path);
  const big = file.get('big');
  const stream = new Stream();
  fake.delay(stream.handle);
  const arriving = stream.use(() => big.toAsync('cuda:0'));
  big.dispose();
  file.dispose();
  fake.release(stream.handle);
  const there = await arriving;
  checkValues(there);
  there.dispose();
  stream.dispose();
  equal(live(), before);
});

uploadTest('an error of the device ends the upload and leaves nothing', async () => {
  using file = openSafetensorsSync(path);
  using big = file.get('big');
  const before = live();
  for (const [symbol, skip] of [
    ['cuMemHostAlloc', 0],
    ['cuEventCreate', 1],
    ['cuStreamCreateWithPriority', 0],
    ['cuMemcpyAsync', 0],
    ['cuMemcpyAsync', 7],
    ['cuEventRecord', 3],
    ['cuEventSynchronize', 2],
    ['cuStreamWaitEvent', 1],
  ] as const) {
    fake.failNext(symbol, code.notSupported, skip);
    throws('CudaError', 'NOT_SUPPORTED', () => big.to('cuda:0'));
    equal(live(), before, `${symbol} ${skip}`);
    fake.failNext(symbol, code.notSupported, skip);
    await rejects('CudaError', 'NOT_SUPPORTED', big.toAsync('cuda:0'));
    equal(live(), before, `${symbol} ${skip}, asynchronous`);
  }
  using there = big.to('cuda:0');
  checkValues(there);
});

uploadTest('behind the work of the current stream, and before its next work', () => {
  using file = openSafetensorsSync(path);
  using big = file.get('big');
  using stream = new Stream();
  stream.use(() => {
    using there = Tensor.zeros([count], 'float64', { device: 'cuda:0' });
    there.copyFrom(big);
    using copy = there.copy();
    checkValues(copy);
  });
});

uploadTest('a stream that is captured into a graph is refused', async () => {
  using file = openSafetensorsSync(path);
  using big = file.get('big');
  using stream = new Stream();
  fake.beginCapture(stream.handle);
  try {
    throws('CudaError', 'CAPTURE_UNSUPPORTED', () => stream.use(() => big.to('cuda:0')));
    await rejects(
      'CudaError',
      'CAPTURE_UNSUPPORTED',
      stream.use(() => big.toAsync('cuda:0')),
    );
  } finally {
    fake.endCapture(stream.handle);
  }
});
