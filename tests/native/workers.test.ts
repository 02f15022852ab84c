import { Worker } from 'node:worker_threads';
import { scope, Tensor } from 'dlpack';
import { leaks, liveCounts, setDebug } from 'dlpack/debug';
import { addressOf, exportManaged, importManaged, releaseManaged } from 'dlpack/native';
import { describeTensor, openTensor, shareTensor, type TensorToken } from 'dlpack/shared';
import { equal, ok, throws } from '../assert.js';
import { resultOf, runChild } from '../child.js';
import { collect, collectUntil, runtime, test, testWith } from '../harness.js';
import type { Reply, Task } from './children/worker.js';
import { peer, peerMissing } from './peer.js';

/** Starts a worker that answers one message at a time. */
function startWorker() {
  const worker = new Worker(new URL('./children/worker.js', import.meta.url));
  const ask = (task: Task) =>
    new Promise<Reply>((resolve, reject) => {
      worker.once('message', resolve);
      worker.once('error', reject);
      worker.postMessage(task);
    });
  return { worker, ask };
}

test('a tensor reaches a worker without a copy, and both see writes', async () => {
  const { worker, ask } = startWorker();
  const x = Tensor.from(
    [
      [1, 2],
      [3, 4],
    ],
    { dtype: 'float32' },
  );
  const reply = await ask({ do: 'keep', token: shareTensor(x.transpose()) });
  equal([reply.address, reply.shape, reply.strides], [addressOf(x), [2, 2], [1, 2]]);
  x.set(0, 1, 9);
  equal((await ask({ do: 'get', index: [1, 0] })).value, 9);
  await ask({ do: 'set', index: [0, 0], value: 50 });
  equal(x.get(0, 0), 50);
  await worker.terminate();
});

test('both sides dispose in any order', async () => {
  await collect();
  const before = liveCounts().storages;
  const { worker, ask } = startWorker();
  const first = Tensor.from([1, 2, 3], { dtype: 'float32' });
  await ask({ do: 'keep', token: shareTensor(first) });
  first.dispose();
  equal((await ask({ do: 'get', index: [2] })).value, 3, 'the worker’s reference is its own');
  await ask({ do: 'dispose' });
  const second = Tensor.from([4, 5], { dtype: 'float32' });
  await ask({ do: 'keep', token: shareTensor(second) });
  await ask({ do: 'dispose' });
  equal(second.get(0), 4);
  second.dispose();
  await worker.terminate();
  ok(await collectUntil(() => liveCounts().storages <= before));
});

test('a worker’s tensor comes back and outlives the worker', async () => {
  const { worker, ask } = startWorker();
  const reply = await ask({ do: 'make', shape: [3], value: 7 });
  await worker.terminate();
  const x = openTensor(reply.token as never, { dtype: 'float32' });
  equal([addressOf(x), x.toArray()], [reply.address, [7, 7, 7]]);
});

test('one token serves several workers, each message once', async () => {
  const workers = [startWorker(), startWorker()];
  const x = Tensor.from([1], { dtype: 'float32' });
  const token = shareTensor(x);
  for (const { ask } of workers) equal((await ask({ do: 'keep', token })).address, addressOf(x));
  const message = structuredClone(token);
  openTensor(message).dispose();
  throws('ConsumedError', 'used before', () => openTensor(message));
  for (const { worker } of workers) await worker.terminate();
});

test('forged, stale, revoked and unread tokens do no harm', async () => {
  const before = liveCounts().tickets;
  for (const [forged, tag, text] of [
    [null, 'TypeError', 'shareTensor()'],
    ['token', 'TypeError', 'shareTensor()'],
    [{}, 'ValueError', 'version'],
    [{ dlpackTicket: 5 }, 'TypeError', 'dlpackTicket'],
    [{ dlpackTicket: 'x' }, 'TypeError', 'dlpackTicket'],
    [{ dlpackTicket: 'g'.repeat(32) }, 'TypeError', 'dlpackTicket'],
  ] as const) {
    throws(tag, text, () => openTensor(forged as never));
  }
  for (let i = 0; i < 100; i++) {
    const dlpackTicket = Array.from({ length: 32 }, () => Math.floor(Math.random() * 16).toString(16)).join('');
    throws('ConsumedError', 'never issued', () => openTensor({ dlpackTicket }));
  }
  const x = Tensor.from([1, 2]);
  const unposted = shareTensor(x);
  equal(liveCounts().tickets, before, 'a token that was never posted holds nothing');
  const lost = [structuredClone(unposted), structuredClone(unposted)];
  equal(liveCounts().tickets, before + 2);
  equal(unposted.revoke(), 2);
  const held = shareTensor(x);
  void held.dlpackTicket;
  scope((track) => void track(held));
  equal(held.revoke(), 0, 'a scope has revoked its ticket');
  equal(liveCounts().tickets, before);
  for (const token of lost) throws('ConsumedError', 'revoked', () => openTensor(token));
  const late = shareTensor(x);
  x.dispose();
  throws('DisposedError', 'released', () => structuredClone(late));
  throws('DisposedError', 'released', () => shareTensor(x));
  throws('TypeError', 'a Tensor', () => shareTensor({} as never));
  throws('DisposedError', 'released', () => describeTensor(x));
});

test('options are checked before a message is opened', () => {
  const x = Tensor.from([1, 2]);
  const token = shareTensor(x);
  for (const options of [null, 'worker', 5, []]) {
    throws('TypeError', 'for options', () => describeTensor(x, options as never));
    throws('TypeError', 'for options', () => openTensor(structuredClone(token), options as never));
  }
  throws('ValueError', "memory on 'cpu'", () => openTensor(structuredClone(shareTensor(x)), { stream: 1n }));
  equal(openTensor(structuredClone(shareTensor(x)), { stream: null }).toArray(), [1, 2]);
  equal(token.revoke(), 4, 'options are checked before a message is opened');
});

test('a device that cannot share', () => {
  throws('UnsupportedDeviceError', 'another process', () => openTensor({ version: 1, kind: 'rocm' } as never));
});

test('JavaScript memory of a worker is shared only as a copy', async () => {
  const { worker, ask } = startWorker();
  const reply = await ask({ do: 'adopt', shape: [4], value: 6 });
  equal(reply.error, 'BufferError', 'copy: false says so instead');
  await worker.terminate();
  await collect();
  equal(openTensor(reply.token as never).toArray(), [6, 6, 6, 6]);
});

testWith(peerMissing, 'a worker terminated with live imports and exports', async () => {
  await collect();
  const before = { deletions: peer.deletions(), ...liveCounts() };
  const { worker, ask } = startWorker();
  // The worker imports 50 tensors of the peer and exports 50 of its own; it never releases anything.
  const reply = await ask({ do: 'hoard', count: 50 });
  const addresses = reply.addresses as BigUint64Array;
  await worker.terminate();
  ok(
    await collectUntil(() => peer.deletions() >= before.deletions + 50),
    `${peer.deletions() - before.deletions} deletions`,
  );
  // Its exports are alive without it.
  for (const address of addresses) {
    const { data } = peer.readVersioned(address);
    equal(peer.peekByte(data), 9);
  }
  peer.deleteOnThreads(addresses, 4);
  peer.joinThreads();
  ok(liveCounts().exports <= before.exports, JSON.stringify(liveCounts()));
  ok(await collectUntil(() => liveCounts().storages <= before.storages), JSON.stringify(liveCounts()));
});

testWith(peerMissing, 'memory that a worker adopted outlives the worker', async () => {
  const { worker, ask } = startWorker();
  const reply = await ask({ do: 'hoard-adopted', count: 20 });
  await worker.terminate();
  await collect();
  for (const address of reply.addresses as BigUint64Array) equal(peer.peekByte(peer.readVersioned(address).data), 5);
  peer.deleteOnThreads(reply.addresses as BigUint64Array, 2);
  peer.joinThreads();
});

test('many short workers', async () => {
  await collect();
  const before = liveCounts().storages;
  for (let i = 0; i < 8; i++) {
    const { worker, ask } = startWorker();
    const x = Tensor.from([i], { dtype: 'float32' });
    await ask({ do: 'keep', token: shareTensor(x) });
    x.dispose();
    await worker.terminate();
  }
  ok(await collectUntil(() => liveCounts().storages <= before), JSON.stringify(liveCounts()));
});

test('an address from another thread’s export can be imported here', async () => {
  const { worker, ask } = startWorker();
  const reply = await ask({ do: 'export', shape: [2], value: 3 });
  const x = importManaged(reply.address as bigint);
  await worker.terminate();
  equal(x.toArray(), [3, 3]);
  const address = exportManaged(x);
  equal(addressOf(importManaged(address)), addressOf(x));
});

test('debug mode: exports of other threads are neither counted nor confused with ours', async () => {
  const { worker, ask } = startWorker();
  setDebug(true);
  try {
    const places = () => leaks().reduce((sum, { kind, count }) => sum + (kind === 'export' ? count : 0), 0);
    const reply = await ask({ do: 'trace', count: 100 });
    equal(reply.value, 100, 'the worker’s own');
    equal(places(), 0);
    const x = Tensor.zeros([1], 'uint8');
    const here = Array.from({ length: 100 }, () => exportManaged(x));
    equal(places(), 100);
    // If both threads counted from the same number, these would be mistaken for the worker's live exports ...
    for (const address of here.slice(0, 50)) releaseManaged(address);
    equal(places(), 50);
    // ... and these for exports that no longer exist.
    for (const address of reply.addresses as BigUint64Array) releaseManaged(address);
    equal(places(), 50);
    for (const address of here.slice(50)) releaseManaged(address);
    equal(places(), 0);
  } finally {
    setDebug(false);
    await worker.terminate();
  }
});

// Node has no web workers.
if (runtime !== 'node') {
  test('a web worker works like other threads: its heap is not lent, and its tensors outlive it', async () => {
    const { Worker: WebWorker } = globalThis as unknown as {
      Worker: new (
        url: URL,
        options: object,
      ) => {
        onmessage: (event: { data: WebReply }) => void;
        onerror: (event: unknown) => void;
        postMessage(message: unknown): void;
        terminate(): void;
      };
    };
    const worker = new WebWorker(new URL('./children/web-worker.js', import.meta.url), { type: 'module' });
    const x = Tensor.from([1, 2], { dtype: 'float32' });
    const reply = await new Promise<WebReply>((resolve, reject) => {
      worker.onmessage = ({ data }) => resolve(data);
      worker.onerror = reject;
      worker.postMessage(shareTensor(x));
    });
    equal(reply.address, addressOf(x), 'the same memory');
    equal(x.get(0), 50);
    equal(reply.refused, 'BufferError');
    const received = openTensor(reply.token);
    worker.terminate();
    await collect();
    equal(received.toArray(), [6, 7]);
    equal(importManaged(reply.exported).toArray(), [6, 7]);
    equal(x.toArray(), [50, 2], 'the worker’s reference is gone, this one is not');
  });
}

interface WebReply {
  address: bigint;
  token: TensorToken;
  exported: bigint;
  refused: string;
}

for (const how of ['header', 'external', 'versioned', 'legacy']) {
  testWith(peerMissing, `the deleter of an addon that only an ended worker had loaded: ${how}`, () => {
    const { output } = runChild(import.meta.url, './children/ended-producer.js', { args: [how] });
    equal(resultOf<number>(output), 0);
  });
}
