/** Large blocks of released tensors wait for new tensors: within bounds, on every thread, and not for long. */

import { Worker } from 'node:worker_threads';
import { Tensor } from 'dlpack';
import { emptyCache, liveCounts } from 'dlpack/debug';
import { addressOf, exportManaged, releaseManaged } from 'dlpack/native';
import { equal, ok } from '../assert.js';
import { runChild } from '../child.js';
import { collect, collectUntil, repeatUntil, test, testWith } from '../harness.js';
import type { ReuseTask } from './children/reuse.js';
import { peer, peerMissing } from './peer.js';

const MiB = 2 ** 20;
const LIMIT = 256 * MiB;

/** Waits for a timer of another thread or of this one. */
const waitUntil = (done: () => boolean): Promise<boolean> =>
  repeatUntil(done, () => new Promise((resolve) => setTimeout(resolve, 20)));

function startWorker() {
  const worker = new Worker(new URL('./children/reuse.js', import.meta.url));
  const ask = (task: ReuseTask) =>
    new Promise<unknown>((resolve, reject) => {
      worker.once('message', resolve);
      worker.once('error', reject);
      worker.postMessage(task);
    });
  return { worker, ask };
}

test('the next tensor of about the same size reuses the block', () => {
  emptyCache('cpu');
  const first = Tensor.empty([8 * MiB], 'uint8').fill(7);
  const address = addressOf(first);
  equal(liveCounts().kept, 0);
  first.dispose();
  const { kept } = liveCounts();
  ok(kept >= 8 * MiB && kept <= 10 * MiB, `${kept} bytes`);
  equal(liveCounts().bytes, 0);
  using larger = Tensor.empty([12 * MiB], 'uint8');
  ok(addressOf(larger) !== address, 'too large for the block');
  using smaller = Tensor.empty([4 * MiB], 'uint8');
  ok(addressOf(smaller) !== address, 'the block is too large');
  using second = Tensor.empty([2 * MiB - 5], 'float32');
  equal([addressOf(second), liveCounts().kept], [address, 0]);
  equal(liveCounts().bytes, 12 * MiB + 4 * MiB + 8 * MiB - 20);
});

test('a block is released with its last owner', () => {
  emptyCache('cpu');
  const tensor = Tensor.empty([8 * MiB], 'uint8').fill(7);
  const view = tensor.slice([0, 4]);
  const address = exportManaged(tensor);
  tensor.dispose();
  equal(liveCounts().kept, 0);
  using other = Tensor.empty([8 * MiB], 'uint8').fill(9);
  ok(addressOf(other) !== addressOf(view));
  // A copy is read, because a buffer that shows the view would own the block until the next collection.
  equal(view.copy().toArray(), [7, 7, 7, 7]);
  view.dispose();
  equal(liveCounts().kept, 0);
  releaseManaged(address);
  ok(liveCounts().kept >= 8 * MiB);
});

test('a typed array keeps its block after the tensor was collected', async () => {
  emptyCache('cpu');
  const array = (() => Tensor.empty([8 * MiB], 'uint8').fill(7).data)();
  await collect();
  for (let i = 0; i < 3; i++)
    Tensor.empty([8 * MiB], 'uint8')
      .fill(9)
      .dispose();
  equal([array[0], array[8 * MiB - 1]], [7, 7]);
});

test('zeros and padded elements are clear, whatever the block held before', () => {
  for (const nbytes of [MiB, 3 * MiB + 8]) {
    emptyCache('cpu');
    for (let i = 0; i < 2; i++) {
      Tensor.empty([nbytes], 'uint8').fill(255).dispose();
      using zeros = Tensor.zeros([nbytes / 8], 'float64');
      ok(
        (zeros.data as Float64Array).every((value) => value === 0),
        `${nbytes} bytes`,
      );
      zeros.fill(-1); // the next tensor may get this block
    }
    Tensor.empty([nbytes], 'uint8').fill(255).dispose();
    using padded = Tensor.empty([nbytes], 'uint4', { padded: true });
    ok((padded.data as Uint8Array).every((value) => value === 0));
  }
});

test('the kept bytes and blocks are bounded, and the oldest are released first', () => {
  emptyCache('cpu');
  const tensors = Array.from({ length: 6 }, () => Tensor.empty([64 * MiB], 'uint8'));
  const addresses = tensors.map((tensor) => addressOf(tensor));
  for (const tensor of tensors) tensor.dispose();
  const { kept } = liveCounts();
  ok(kept > LIMIT / 2 && kept <= LIMIT, `${kept} bytes`);
  using newest = Tensor.empty([64 * MiB], 'uint8');
  equal(addressOf(newest), addresses[5] as bigint);
  Tensor.empty([LIMIT + 1], 'uint8').dispose();
  ok(liveCounts().kept <= kept, 'a block above the limit is not kept');
  emptyCache('cpu');
  const many = Array.from({ length: 100 }, () => Tensor.empty([MiB], 'uint8'));
  for (const tensor of many) tensor.dispose();
  ok(liveCounts().kept <= 64 * MiB, `${liveCounts().kept} bytes of 64 blocks`);
  Tensor.empty([MiB - 1], 'uint8').dispose();
  ok(liveCounts().kept <= 64 * MiB, 'a small block is not kept');
});

test('emptyCache unmaps the kept blocks', () => {
  emptyCache('cpu');
  const before = process.memoryUsage.rss();
  Tensor.empty([64 * MiB], 'uint8')
    .fill(1)
    .dispose();
  const { kept } = liveCounts();
  ok(kept >= 64 * MiB);
  emptyCache('cuda:0');
  equal(liveCounts().kept, kept, 'those of another device');
  emptyCache();
  equal(liveCounts().kept, 0);
  ok(process.memoryUsage.rss() - before < 32 * MiB);
});

testWith(peerMissing, 'a block that a thread without JavaScript released is kept, too', () => {
  emptyCache('cpu');
  const addresses = new BigUint64Array(4);
  for (let i = 0; i < addresses.length; i++) {
    using tensor = Tensor.empty([8 * MiB], 'uint8').fill(i);
    addresses[i] = exportManaged(tensor);
  }
  equal(liveCounts().kept, 0);
  peer.deleteOnThreads(addresses, 4);
  peer.joinThreads();
  ok(liveCounts().kept >= 4 * 8 * MiB, `${liveCounts().kept} bytes`);
});

test('memory that no tensor used for a second is released without a call', async () => {
  emptyCache('cpu');
  Tensor.empty([8 * MiB], 'uint8')
    .fill(1)
    .dispose();
  ok(liveCounts().kept > 0);
  ok(await waitUntil(() => liveCounts().kept === 0), `${liveCounts().kept} bytes are kept`);
  // The watch starts again.
  Tensor.empty([8 * MiB], 'uint8')
    .fill(1)
    .dispose();
  ok(await waitUntil(() => liveCounts().kept === 0), `${liveCounts().kept} bytes are kept`);
});

test('a kept block does not keep the process running', () => {
  const { code, signal, output } = runChild(import.meta.url, './children/reuse.js');
  equal([code, signal], [0, null], output);
  ok(Number(/kept (\d+)/.exec(output)?.[1]) >= 8 * MiB, output);
});

test('DLPACK_REUSE_BYTES bounds the kept bytes', () => {
  const { code, output } = runChild(import.meta.url, './children/reuse.js', { env: { DLPACK_REUSE_BYTES: '0' } });
  equal([code, /kept (\d+)/.exec(output)?.[1]], [0, '0'], output);
});

testWith(peerMissing, 'blocks of workers that have ended are released', async () => {
  ok(await collectUntil(() => liveCounts().storages === 0));
  const [releases, holds, exports] = [startWorker(), startWorker(), startWorker()];
  equal(await releases.ask({ do: 'release', value: 3 }), 'done');
  equal(await holds.ask({ do: 'hold', value: 3 }), 'done');
  const address = (await exports.ask({ do: 'export', value: 3 })) as bigint;
  equal(liveCounts().bytes, 2 * 8 * MiB);
  // One of them watches the kept blocks, and another thread has to take over.
  await Promise.all([releases, holds, exports].map(({ worker }) => worker.terminate()));
  ok(await waitUntil(() => liveCounts().bytes === 8 * MiB), JSON.stringify(liveCounts()));
  peer.deleteOnThreads(BigUint64Array.of(address), 1);
  peer.joinThreads();
  equal(liveCounts().bytes, 0);
  ok(await waitUntil(() => liveCounts().kept === 0), `${liveCounts().kept} bytes are kept`);
});

test('threads that take and release blocks at once never share one', async () => {
  const workers = Array.from({ length: 4 }, startWorker);
  const answers = await Promise.all(workers.map(({ ask }, i) => ask({ do: 'mix', value: i + 1 })));
  equal(answers, ['done', 'done', 'done', 'done']);
  await Promise.all(workers.map(({ worker }) => worker.terminate()));
});
