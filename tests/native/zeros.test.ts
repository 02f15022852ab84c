import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { expectTensor, Tensor } from 'dlpack';
import { liveCounts } from 'dlpack/debug';
import { addressOf, exchangeApi, exportManaged, importManaged } from 'dlpack/native';
import { openTensor, type TensorToken } from 'dlpack/shared';
import { equal, ok } from '../assert.js';
import { collectUntil, test, testWith } from '../harness.js';
import type { Reply, Task } from './children/worker.js';
import { peer, peerMissing } from './peer.js';

/** Bytes: in one cache line, below and above the size from which the system clears the pages, and with large pages. */
const sizes = [24, 4096, (1 << 20) - 8, 1 << 20, (1 << 20) + 24, 5 << 20, 64 << 20];

test('memory that was used before is zero again', () => {
  for (const nbytes of sizes) {
    for (let i = 0; i < 3; i++) {
      using used = Tensor.empty([nbytes / 8], 'float64').fill(7);
      equal(used.get(nbytes / 8 - 1), 7);
      used.dispose();
      using zeros = Tensor.zeros([nbytes / 8], 'float64');
      ok(
        (zeros.data as Float64Array).every((value) => value === 0),
        `${nbytes} bytes`,
      );
      equal(addressOf(zeros) % 256n, 0n);
      zeros.fill(7); // values that the next tensor must not have
    }
  }
});

test('padded types, too', () => {
  using used = Tensor.empty([64], 'uint8').fill(255);
  used.dispose();
  using padded = Tensor.empty([64], 'uint4', { padded: true });
  using bytes = Tensor.wrap(padded.data as Uint8Array);
  equal(bytes.toArray(), new Array(64).fill(0));
});

/** The bytes of a packed tensor in memory that had only ones before. */
function bytesOf(make: () => Tensor): readonly number[] {
  const used = Array.from({ length: 8 }, () => Tensor.empty([3], 'uint8').fill(255));
  for (const tensor of used) tensor.dispose();
  using packed = make();
  using bytes = Tensor.wrap(packed.data as Uint8Array);
  return bytes.toArray() as number[];
}

test('the bits after the last packed element are zero', () => {
  using ones = Tensor.from([15, 15, 15, 15, 15, 15, 15], { dtype: 'uint4' });
  using five = Tensor.from([15, 15, 15, 15, 15], { dtype: 'uint8' });
  const full = [255, 255, 15];
  equal(bytesOf(() => Tensor.empty([5], 'uint4'))[2], 0);
  equal(
    bytesOf(() => Tensor.from([15, 15, 15, 15, 15], { dtype: 'uint4' })),
    full,
  );
  equal(
    bytesOf(() => Tensor.empty([5], 'uint4').fill(15)),
    full,
  );
  equal(
    bytesOf(() => five.astype('uint4')),
    full,
  );
  for (const start of [0, 1, 2]) {
    equal(
      bytesOf(() => ones.slice([start, start + 5]).copy()),
      full,
      `copy from ${start}`,
    );
    equal(
      bytesOf(() => Tensor.from(ones.slice([start, start + 5]))),
      full,
      `Tensor.from from ${start}`,
    );
    equal(
      bytesOf(() => Tensor.empty([5], 'uint4').copyFrom(ones.slice([start, start + 5]))),
      full,
      `copyFrom from ${start}`,
    );
  }
});

testWith(peerMissing, 'and in memory that a C program allocates', () => {
  const api = exchangeApi();
  equal(bytesOf(() => importManaged(peer.allocate(api, { shape: [5n], code: 1, bits: 4 }) as bigint))[2], 0);
});

test('zeroed memory is counted, and released once', async () => {
  ok(await collectUntil(() => liveCounts().storages === 0));
  for (const nbytes of sizes) {
    const tensor = Tensor.zeros([nbytes], 'uint8');
    const view = tensor.slice([0, 8]);
    equal(liveCounts().bytes, nbytes);
    tensor.dispose();
    equal(liveCounts().bytes, nbytes);
    view.dispose();
    equal(liveCounts().bytes, 0);
  }
  (() => Tensor.zeros([8 << 20], 'uint8'))();
  ok(await collectUntil(() => liveCounts().bytes === 0));
});

test('bits that belong to no element are zero in memory that was used before', () => {
  const fill = (nbytes: number) => {
    const tensors = Array.from({ length: 64 }, () => Tensor.empty([nbytes], 'uint8').fill(255));
    for (const tensor of tensors) tensor.dispose();
  };
  for (const size of [5, 999, (1 << 20) + 1]) {
    fill(Math.ceil(size / 2));
    const packed = Array.from({ length: 64 }, () => Tensor.empty([size], 'uint4'));
    const rows = packed.map((tensor) => tensor.unsafeData() as Uint8Array);
    equal(rows.filter((bytes) => (bytes.at(-1) as number) > 15).length, 0);
    for (const tensor of packed) tensor.dispose();
    fill(size);
    using padded = Tensor.empty([size], 'uint4', { padded: true });
    ok((padded.unsafeData() as Uint8Array).every((byte) => byte === 0));
  }
});

testWith(peerMissing, 'zeroed memory whose last owner is on another thread is released there, once', async () => {
  ok(await collectUntil(() => liveCounts().storages === 0 && liveCounts().exports === 0));
  for (const nbytes of sizes) {
    const addresses = new BigUint64Array(8);
    const tensor = Tensor.zeros([nbytes], 'uint8').fill(5);
    for (let i = 0; i < addresses.length; i++) addresses[i] = exportManaged(tensor);
    tensor.dispose();
    equal([liveCounts().bytes, liveCounts().exports], [nbytes, 8]);
    for (const address of addresses) equal(peer.peekByte(peer.readVersioned(address).data), 5);
    peer.deleteOnThreads(addresses, 4);
    peer.joinThreads();
    equal([liveCounts().bytes, liveCounts().storages, liveCounts().exports], [0, 0, 0], `${nbytes} bytes`);
  }
});

testWith(
  peerMissing,
  'zeroed memory outlives its worker if an export holds it, and otherwise ends with the worker',
  async () => {
    ok(await collectUntil(() => liveCounts().storages === 0 && liveCounts().exports === 0));
    for (const nbytes of [4096, 5 << 20]) {
      const worker = new Worker(new URL('./children/worker.js', import.meta.url));
      const replies: Reply[] = [];
      for (const task of [
        { do: 'make', shape: [nbytes / 4], value: 3 }, // the worker keeps it
        { do: 'export', shape: [nbytes / 4], value: 4 },
      ] satisfies Task[]) {
        const answer = once(worker, 'message');
        worker.postMessage(task);
        replies.push((await answer)[0] as Reply);
      }
      await worker.terminate();
      openTensor(replies[0]?.token as TensorToken).dispose(); // the ticket of the message
      ok(await collectUntil(() => liveCounts().storages === 1), JSON.stringify(liveCounts()));
      using rest = expectTensor(importManaged(replies[1]?.address as bigint), { dtype: 'float32' });
      equal([rest.get(0), rest.get(nbytes / 4 - 1)], [4, 4]);
      rest.dispose();
      ok(await collectUntil(() => liveCounts().storages === 0), JSON.stringify(liveCounts()));
      equal(liveCounts().bytes, 0);
    }
  },
);

testWith(
  process.platform === 'linux' ? false : 'Linux, where unused pages take no memory',
  'a large tensor takes no memory until it is used',
  () => {
    const gibibyte = 2 ** 30;
    const before = process.memoryUsage.rss();
    using tensor = Tensor.zeros([gibibyte], 'uint8');
    ok(process.memoryUsage.rss() - before < gibibyte / 4);
    tensor.set(gibibyte - 1, 9);
    equal([tensor.get(0), tensor.get(gibibyte - 1)], [0, 9]);
  },
);
