/** An explicit dispose releases memory at once, in the middle of a tick, also after `.data` has shown it. */

import { fromDLPack, scope, scopeAsync, Tensor } from 'dlpack';
import { liveCounts } from 'dlpack/debug';
import { exportManaged, importManaged, releaseManaged } from 'dlpack/native';
import { describeTensor, openTensor } from 'dlpack/shared';
import { equal, ok, throws } from '../assert.js';
import { resultOf, runChild } from '../child.js';
import { collect, collectUntil, hasExternalBuffers, runtime, test, testWith } from '../harness.js';
import { MOST_MIB } from '../peak.js';
import { countDeletions, peer, peerMissing } from './peer.js';

const live = (): [storages: number, imports: number] => [liveCounts().storages, liveCounts().imports];

/** Moves the memory of a buffer to another buffer. Node from 22 on and Bun forbid `structuredClone` to move it. */
function move(buffer: ArrayBufferLike): ArrayBuffer {
  const movable = buffer as ArrayBuffer & { transfer?(): ArrayBuffer };
  return movable.transfer?.() ?? structuredClone(movable, { transfer: [movable] });
}

const makers: Record<string, () => Tensor<'uint8'>> = {
  'a small tensor': () => Tensor.zeros([8], 'uint8'),
  'a tensor': () => Tensor.zeros([5000], 'uint8'),
  'a large tensor': () => Tensor.zeros([2 ** 21], 'uint8'),
  'a view': () => Tensor.zeros([4, 8], 'uint8').slice(1) as Tensor<'uint8'>,
  'an empty tensor': () => Tensor.zeros([0], 'uint8'),
  'shareable memory': () => Tensor.zeros([8], 'uint8', { shareable: true }),
  'memory of another process': () => {
    using x = Tensor.zeros([8], 'uint8', { shareable: true });
    return openTensor(describeTensor(x)) as Tensor<'uint8'>;
  },
  'an import': () => importManaged(exportManaged(Tensor.zeros([8], 'uint8'))) as Tensor<'uint8'>,
};

/** Not new, so that `.data` is a copy where external buffers are forbidden. */
const opened = ['shareable memory', 'memory of another process'];

for (const [name, make] of Object.entries(makers)) {
  test(`dispose releases ${name} that .data showed`, async () => {
    await collectUntil(() => liveCounts().storages === 0);
    scope(() => {
      const before = live();
      const x = scope(make);
      const { data, size } = x;
      data.fill(1);
      x.dispose();
      equal([live(), data.length], [before, hasExternalBuffers || opened.includes(name) ? 0 : size]);
    });
  });
}

test('using, scope and scopeAsync release memory that .data showed', async () => {
  await collectUntil(() => liveCounts().storages === 0);
  const before = live();
  {
    using x = Tensor.zeros([5000], 'uint8');
    x.data.fill(1);
  }
  equal(live(), before);
  scope(() => Tensor.zeros([5000], 'uint8').slice([1, null]).data.fill(1));
  equal(live(), before);
  const inside = await scopeAsync(async (track) => {
    track(Tensor.zeros([5000], 'uint8')).data.fill(1);
    return live();
  });
  equal(inside, [before[0] + 1, before[1]]);
  equal(live(), before);
});

testWith(peerMissing, 'the deleter of an import runs inside dispose', () => {
  const x = importManaged(peer.makeVersioned({ shape: [4n], code: 1, bits: 8 }));
  const { data } = x;
  equal(
    countDeletions(() => x.dispose()),
    1,
  );
  equal(data.length, 0);
});

testWith(peerMissing, 'a deleter that disposes another tensor, or throws, inside dispose', () => {
  const before = live();
  const other = Tensor.zeros([5000], 'uint8');
  other.data.fill(1);
  let seen = -1;
  const x = importManaged(
    peer.makeCalling({ shape: [4n], code: 1, bits: 8 }, () => {
      seen = data.length;
      other.dispose();
      using another = Tensor.zeros([5000], 'uint8');
      another.data.fill(2);
    }),
  );
  const { data } = x;
  x.dispose();
  equal([seen, live()], [0, before], 'detached before the deleter runs');
  const thrower = importManaged(
    peer.makeCalling({ shape: [4n], code: 1, bits: 8 }, () => {
      throw new RangeError('a deleter failed');
    }),
  );
  const { data: shown } = thrower;
  try {
    thrower.dispose();
  } catch (error) {
    equal(String(error), 'RangeError: a deleter failed'); // Deno drops errors of deleters
  }
  equal([shown.length, thrower.isDisposed, live()], [0, true, before]);
});

test('an export, a view or another worker keeps the memory, as before', () => {
  const x = Tensor.from([1, 2, 3], { dtype: 'uint8' });
  const { data } = x;
  const view = x.slice([1, null]);
  const address = exportManaged(x);
  x.dispose();
  equal([data.length, view.toArray()], [3, [2, 3]]);
  view.dispose();
  equal(data.length, hasExternalBuffers ? 0 : 3);
  const back = importManaged(address);
  equal(back.toArray(), [1, 2, 3]);
  back.dispose();
});

if (hasExternalBuffers) {
  test('memory that a program moved away waits for the buffer that has it', async () => {
    await collectUntil(() => liveCounts().storages === 0);
    const before = live();
    let moved: ArrayBuffer | null = null;
    (() => {
      const x = Tensor.zeros([5000], 'uint8').fill(7);
      moved = move(x.data.buffer);
      x.dispose();
    })();
    const isMoved = () => [...new Uint8Array(moved as ArrayBuffer)].every((value) => value === 7);
    for (let i = 0; i < 50; i++) Tensor.zeros([5000], 'uint8').fill(i).dispose();
    await collect();
    for (let i = 0; i < 50; i++) Tensor.zeros([5000], 'uint8').fill(i).dispose();
    ok(isMoved(), 'its values are there');
    moved = null;
    ok(await collectUntil(() => live().join() === before.join()), `${before} became ${live()}`);
  });

  test('a second buffer is released at once, and the first that was moved away keeps the memory', async () => {
    await collectUntil(() => liveCounts().storages === 0);
    const x = Tensor.zeros([5000], 'uint8').fill(7);
    const first = move(x.data.buffer);
    const { data } = x; // a second buffer over the same memory
    equal([data.length, data[4999]], [5000, 7]);
    x.dispose();
    equal(data.length, 0);
    for (let i = 0; i < 50; i++) Tensor.zeros([5000], 'uint8').fill(i).dispose();
    equal(new Uint8Array(first)[4999], 7);
  });

  test('a program that lies about the length of a buffer keeps the memory alive', async () => {
    const x = Tensor.zeros([5000], 'uint8').fill(7);
    const { buffer } = x.data;
    const moved = move(buffer);
    Object.defineProperty(buffer, 'byteLength', { value: 5000 });
    Object.defineProperty(buffer, 'detached', { value: false });
    x.dispose();
    for (let i = 0; i < 50; i++) Tensor.zeros([5000], 'uint8').fill(i).dispose();
    equal(new Uint8Array(moved)[4999], 7);
  });
}

testWith(peerMissing, 'exports and imports in turn release each other at once', () => {
  const before = live();
  for (let i = 0; i < 100; i++) {
    const x = Tensor.zeros([5000], 'uint8');
    x.data[0] = i;
    const y = importManaged(exportManaged(x));
    y.data[0] = i;
    const z = fromDLPack(y);
    z.data[0] = i;
    releaseManaged(exportManaged(z));
    for (const tensor of [x, y, z]) tensor.dispose();
  }
  equal(live(), before);
  throws('DisposedError', '', () => {
    const x = Tensor.zeros([1], 'uint8');
    x.data[0] = 1;
    x.dispose();
    x.get(0);
  });
});

const loops = ['own', 'small', 'zeros', 'set', 'using', 'scope', 'adopted', 'imported', 'external', 'shared'];

for (const loop of loops) {
  testWith(peerMissing, `the memory of a loop in one tick does not pile up: ${loop}`, () => {
    const { output } = runChild(import.meta.url, './children/peak.js', { args: [loop] });
    const grown = resultOf<number>(output);
    ok(grown < MOST_MIB, `${grown} MiB`);
  });
}

testWith(
  peerMissing,
  'the memory of a loop in one tick does not pile up in a worker, or without external buffers',
  () => {
    const inWorker = resultOf<number>(
      runChild(import.meta.url, './children/peak.js', { args: ['own', 'worker'] }).output,
    );
    ok(inWorker < MOST_MIB, `${inWorker} MiB in a worker`);
    if (runtime === 'deno') return; // it does not collect on request in the middle of a tick, and allows external buffers
    for (const loop of ['own', 'small', 'scope', 'adopted']) {
      const env = { DLPACK_NO_EXTERNAL_BUFFERS: '1' };
      const grown = resultOf<number>(runChild(import.meta.url, './children/peak.js', { args: [loop], env }).output);
      ok(grown < MOST_MIB, `${grown} MiB without external buffers: ${loop}`);
    }
  },
);
