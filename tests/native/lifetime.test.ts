import { fromDLPack, Tensor } from 'dlpack';
import { leaks, liveCounts, setDebug } from 'dlpack/debug';
import { addressOf, exportManaged, importManaged, releaseManaged } from 'dlpack/native';
import { equal, ok, throws } from '../assert.js';
import { runChild } from '../child.js';
import { collect, collectUntil, hasExternalBuffers, runtime, test, testWith, unless } from '../harness.js';
import { peer, peerMissing } from './peer.js';

// Rule 1: memory we allocate is native and 256-byte aligned; one ArrayBuffer for each storage, made on first use.
test('rule 1: memory is native and aligned, with one buffer for each storage', () => {
  for (const size of [0, 1, 100, 4097, 1 << 20]) equal(addressOf(Tensor.empty([size], 'uint8')) % 256n, 0n);
  const x = Tensor.zeros([8], 'float32');
  const [a, b] = [x.slice([0, 4]), x.reshape([2, 4])];
  ok(a.data.buffer === b.data.buffer && b.data.buffer === x.data.buffer);
});

// Rule 2: the last dispose detaches; the collector releases memory that was never disposed.
test('rule 2: released by the collector when never disposed', async () => {
  await collect();
  const before = liveCounts().storages;
  (() => {
    for (let i = 0; i < 5000; i++) Tensor.empty([4], 'float32');
  })();
  ok(liveCounts().storages > before);
  ok(await collectUntil(() => liveCounts().storages <= before));
});

test('rule 2: a typed array that outlives its tensor keeps the memory', async () => {
  const data = (() => Tensor.from([1, 2, 3], { dtype: 'float32' }).data)();
  for (let i = 0; i < 5; i++) await collect();
  equal([...data], [1, 2, 3]);
});

test('rule 2: a tensor collected after its storage was reused releases nothing twice', async () => {
  for (let round = 0; round < 20; round++) {
    (() => {
      const kept: Tensor[] = [];
      for (let i = 0; i < 200; i++) kept.push(Tensor.empty([4], 'int8'));
      for (let i = 0; i < 200; i += 2) kept[i]?.dispose();
    })();
    await new Promise((resolve) => setTimeout(resolve, 0));
  }
  const survivor = Tensor.from([1, 2, 3, 4], { dtype: 'int8' });
  await collect();
  equal(survivor.toArray(), [1, 2, 3, 4]);
});

// Rule 3: JavaScript buffers cannot be pinned. The transfer that crashed other bindings is in children/transfer.ts.
test('rule 3: transfer of a wrapped, adopted or external buffer never frees exported memory', () => {
  const { code, signal, output } = runChild(import.meta.url, './children/transfer.js');
  equal([code, signal], [0, null], output);
  ok(output.includes('all read'), output);
});

test('rule 3: a buffer marked as untransferable is pinned only where the mark holds', async () => {
  const { markAsUntransferable } = await import('node:worker_threads');
  const array = new Uint8Array([1, 2, 3]);
  markAsUntransferable?.(array.buffer);
  const x = Tensor.wrap(array);
  let copied: boolean;
  try {
    const address = exportManaged(x, { copy: false });
    copied = false;
    equal(importManaged(address).get(1), 2);
  } catch (error) {
    copied = true;
    ok(String(error).includes('Tensor.adopt'));
  }
  const moved = (array.buffer as { transfer?: () => ArrayBuffer }).transfer;
  let holds = false;
  try {
    if (moved !== undefined) moved.call(array.buffer);
    holds = moved !== undefined && array.buffer.byteLength === 3;
  } catch {
    holds = true;
  }
  if (!copied) ok(holds, 'pinned, so the mark must hold');
});

// Rule 4 (read-only) is in unit/tensor.test.ts; here for imported memory.
testWith(peerMissing, 'rule 4: an imported read-only tensor stays read-only through views and exchanges', () => {
  const x = importManaged(peer.makeVersioned({ shape: [4n], flags: 1, code: 1, bits: 8 }));
  for (const y of [x, x.slice([0, 2]), x.reshape([2, 2]), fromDLPack(x), importManaged(exportManaged(x))]) {
    throws('ReadOnlyError', 'unsafeData', () => y.data);
    throws('ReadOnlyError', 'set', () => y.set(...([...y.shape.map(() => 0), 1] as [number])));
  }
  equal(x.copy().isReadOnly, false);
});

// Rule 5: release is thread-agnostic and re-entrant.
testWith(peerMissing, 'rule 5: deleters on 16 foreign threads while JavaScript allocates and collects', async () => {
  await collect();
  const before = liveCounts();
  // In its own function, because this function waits below, and its frame would keep the tensor from the collector.
  const exportMany = () => {
    const addresses = new BigUint64Array(4000);
    for (let i = 0; i < addresses.length; i++) {
      const x = i % 5 === 0 ? Tensor.adopt(new Uint8Array(64)) : Tensor.empty([64], 'uint8');
      addresses[i] = exportManaged(x);
      if (i % 2 === 0) x.dispose();
    }
    return addresses;
  };
  for (let round = 0; round < 4; round++) {
    peer.deleteOnThreads(exportMany(), 16);
    for (let i = 0; i < 3000; i++) Tensor.empty([i], 'uint8').dispose();
    await collect();
    peer.joinThreads();
  }
  const isOver = await collectUntil(
    () => liveCounts().storages <= before.storages && liveCounts().imports <= before.imports,
  );
  ok(isOver, `${JSON.stringify(before)} became ${JSON.stringify(liveCounts())}`);
  ok(liveCounts().exports <= before.exports, JSON.stringify(liveCounts()));
});

test('rule 5: a deleter that calls back into the package', () => {
  let inner: Tensor | undefined;
  const array = new Uint8Array(8);
  const x = fromDLPack({
    [Symbol.for('dlpack')]: () => ({
      version: [1, 3],
      flags: 0,
      data: array.buffer,
      byteOffset: 0,
      shape: [8],
      strides: [1],
      dtype: { code: 1, bits: 8, lanes: 1 },
      device: { type: 1, id: 0 },
      deleter: () => {
        x.dispose();
        inner = Tensor.from([1, 2]);
        Tensor.empty([3], 'int8').dispose();
      },
    }),
  });
  x.dispose();
  equal(inner?.toArray(), [1, 2]);
});

// Rule 6: where the runtime forbids external buffers.
test('rule 6: without external buffers new memory is shared, and .data of other memory is a marked copy', () => {
  const { code, output } = runChild(import.meta.url, './children/no-external-buffers.js', {
    env: { DLPACK_NO_EXTERNAL_BUFFERS: '1' },
  });
  equal(code, 0, output);
  ok(output.includes('shared, copied and exchanged'), output);
});

test('disposing a tensor whose buffer was marked as untransferable keeps the memory with the arrays', () => {
  const { code, output } = runChild(import.meta.url, './children/untransferable.js');
  equal(code, 0, output);
  ok(output.includes('still here'), output);
});

// Rule 7: counts, and where a leak was made.
testWith(peerMissing, 'rule 7: counts of live objects', async () => {
  await collect();
  const before = liveCounts();
  const x = Tensor.empty([100], 'uint8');
  const y = importManaged(peer.makeVersioned({ shape: [1n] }));
  const address = exportManaged(x);
  equal(liveCounts(), {
    storages: before.storages + 1,
    bytes: before.bytes + 100,
    imports: before.imports + 1,
    exports: before.exports + 1,
    tickets: before.tickets,
    kept: before.kept,
    reported: before.reported + 100 + 1024, // an import reports the same amount, whatever its size
    pins: before.pins + (hasExternalBuffers ? 0 : 1), // a SharedArrayBuffer
    gpuBuffers: 0,
    gpuBytes: 0,
    objects: before.objects,
    objectBytes: before.objectBytes,
  });
  x.dispose();
  equal(liveCounts().bytes, before.bytes + 100, 'the export holds it');
  releaseManaged(address);
  y.dispose();
  await collectUntil(() => liveCounts().pins === before.pins); // the event loop releases what native code kept
  equal(liveCounts(), before);
});

test('rule 7: debug mode names the place of a leak', () => {
  setDebug(true);
  try {
    // Not in tail position, because Bun omits such frames from the stack.
    const leaked: { x?: Tensor; address?: bigint } = {};
    function leakyFunction() {
      leaked.x = Tensor.empty([1], 'uint8');
    }
    function leakyExport() {
      leaked.address = exportManaged(leaked.x as Tensor);
    }
    leakyFunction();
    leakyExport();
    const places = () => leaks().map(({ kind, stack }) => [kind, /leaky\w+/.exec(stack)?.[0]]);
    equal(places(), [
      ['storage', 'leakyFunction'],
      ['export', 'leakyExport'],
    ]);
    leaked.x?.dispose();
    equal(places(), [['export', 'leakyExport']]);
    releaseManaged(leaked.address as bigint);
    equal(places(), []);
  } finally {
    setDebug(false);
  }
  throws('ValueError', 'setDebug', leaks);
});

test('rule 7: debug mode tells what is alive, by its place', () => {
  setDebug(true);
  try {
    const made: Tensor[] = [];
    const addresses: bigint[] = [];
    function makeMany() {
      for (let i = 0; i < 3; i++) {
        made.push(Tensor.zeros([2, 3], 'float32'));
        using row = (made[i] as Tensor).slice(0);
        addresses.push(exportManaged(row));
      }
    }
    makeMany();
    made.push(Tensor.empty([100], 'int8'));
    const live = leaks();
    equal(
      live.map(({ stack, ...rest }) => rest),
      [
        { kind: 'storage', count: 1, bytes: 100, dtype: 'int8', shape: [100], device: 'cpu' },
        { kind: 'storage', count: 3, bytes: 72, dtype: 'float32', shape: [2, 3], device: 'cpu' },
        { kind: 'export', count: 3, bytes: 36, dtype: 'float32', shape: [3], device: 'cpu' },
      ],
    );
    for (const { stack } of live) ok(/lifetime\.test\.[jt]s:\d+/.test(stack.split('\n')[0] as string), stack);
    for (const address of addresses) releaseManaged(address);
    for (const x of made) x.dispose();
    equal(leaks(), []);
  } finally {
    setDebug(false);
  }
});

// Rule 8: external memory is reported once: by us until .data shows it, by the runtime from then on.
test('rule 8: external memory is reported to the collector, once', async () => {
  await collect();
  const MiB = 1 << 20;
  const before = liveCounts().reported;
  const external = () => (runtime === 'node' ? process.memoryUsage().external : 0);
  const tensors = Array.from({ length: 16 }, () => Tensor.empty([MiB], 'uint8'));
  const shares = tensors.map((x) => fromDLPack(x));
  equal(liveCounts().reported - before, 16 * MiB);
  const shown = external();
  for (const x of tensors) ok(x.data.length === MiB);
  equal(
    liveCounts().reported - before,
    hasExternalBuffers ? 0 : 16 * MiB,
    'the runtime does not count the bytes of a SharedArrayBuffer',
  );
  if (runtime === 'node' && hasExternalBuffers)
    ok(external() - shown >= 16 * MiB, 'the runtime counts what .data shows');
  for (const x of [...tensors, ...shares]) x.dispose();
  equal(liveCounts().reported - before, 0);
  const y = Tensor.empty([MiB], 'uint8');
  y.dispose();
  equal(liveCounts().reported - before, 0);
});

testWith(peerMissing, 'imports that a program forgets are collected in time', () => {
  const most = (count: number, kind: string): { imported: number; resident: number } => {
    const { code, output } = runChild(import.meta.url, './children/forgotten.js', { args: [String(count), kind] });
    equal(code, 0, output);
    return JSON.parse(output.trim().split('\n').at(-1) as string);
  };
  // 19 GiB. About ten imports are alive at once, but the collector's callbacks may wait on a busy machine.
  const { imported } = most(300, 'untouched');
  ok(imported < 2 ** 33, `${imported} bytes were imported at once`);
  const { resident } = most(40, 'touched'); // 2.5 GiB
  ok(resident < 2 ** 31, `the process used ${resident} bytes`);
});

const notCounted = unless(runtime === 'node', 'other runtimes do not report their collections');
testWith(notCounted || peerMissing, 'imports that a program disposes cause few collections', () => {
  const { code, output } = runChild(import.meta.url, './children/disposed.js');
  equal(code, 0, output);
  ok(Number(output) < 20, `${output.trim()} collections for 100 imports`);
});

test('a million exchanges leave memory flat', () => {
  const { code, output } = runChild(import.meta.url, './children/million.js');
  equal(code, 0, output);
  ok(output.includes('flat'), output);
});

test('rule 5: memory of an ending environment is released before, during and after its end', () => {
  for (let round = 0; round < 4; round++) {
    const { code, signal, output } = runChild(import.meta.url, './children/late-release.js', { args: ['exit'] });
    equal([code, signal], [0, null], output);
    ok(output.includes('late'), output);
  }
  const { code, signal, output } = runChild(import.meta.url, './children/late-release.js', { args: ['workers'] });
  equal([code, signal], [0, null], output);
  ok(output.includes('none is left'), output);
});

test('process exit with live tensors, exports, tickets and pins', () => {
  for (const how of ['end', 'exit', 'throw']) {
    const { code, signal, output } = runChild(import.meta.url, './children/live-at-exit.js', { args: [how] });
    equal([code, signal], [how === 'throw' ? 1 : 0, null], output);
    ok(output.includes('alive'), output);
  }
});

test('of calls that find the stack full hardly any leaves its tensor behind', async () => {
  const before = liveCounts().storages;
  let full = 0;
  /** Fills the stack, and makes a tensor from each of the last levels on the way back. */
  const descend = (state: { calls: number }): void => {
    try {
      descend(state);
    } catch {
      // no room yet
    }
    if (++state.calls > 60) return;
    try {
      Tensor.empty([3], 'int8');
    } catch {
      full++;
    }
  };
  // One tick, because the first tensor of a tick asks for the registration of all.
  for (let round = 0; round < 20; round++) descend({ calls: 0 });
  ok(full > 0, 'no call found the stack full');
  Tensor.empty([3], 'int8').dispose();
  // Hundreds stayed without the list. An engine that has dropped the code of a function compiles it again, which needs more
  // of the stack than a call, so that each call of a round can throw before the list has its storage.
  const round = 60;
  ok(await collectUntil(() => liveCounts().storages <= before + round), `${liveCounts().storages - before} stay`);
});
