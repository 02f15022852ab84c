import {
  DLPACK,
  DLPACK_DEVICE,
  type DLPackRequest,
  type DLPackSource,
  fromDLPack,
  ManagedFlag,
  type ManagedTensor,
  Tensor,
} from 'dlpack';
import { DLPACK_FLAG_BITMASK_READ_ONLY } from 'dlpack/abi';
import { liveCounts } from 'dlpack/debug';
import { addressOf, toExternal } from 'dlpack/native';
import { equal, notEqual, ok, throws } from '../assert.js';
import { collect, collectUntil, hasExternalBuffers, test, testWith } from '../harness.js';
import { countDeletions, peer, peerMissing } from './peer.js';

/** A producer as another library would write it, which records requests and releases. */
function producer(change: Partial<Record<keyof ManagedTensor, unknown>> = {}) {
  const array = new Float32Array([1, 2, 3, 4, 5, 6]);
  const record = { array, deleted: 0, request: undefined as DLPackRequest | undefined };
  const object = {
    [DLPACK](request?: DLPackRequest): ManagedTensor {
      record.request = request;
      return {
        version: [1, 3],
        flags: 0,
        data: array.buffer,
        byteOffset: 0,
        shape: [2, 3],
        strides: [3, 1],
        dtype: { code: 2, bits: 32, lanes: 1 },
        device: { type: 1, id: 0 },
        deleter: () => {
          record.deleted++;
        },
        ...change,
      } as ManagedTensor;
    },
    [DLPACK_DEVICE]: () => ({ type: 1, id: 0 }),
  };
  return { object, record };
}

// First, because it counts deletions, and other tests leave objects to the collector.
testWith(peerMissing, 'native external from another addon: zero-copy, consumed once, released once', async () => {
  await collect();
  const before = peer.deletions();
  const external = peer.makeExternal({ shape: [4n], code: 1, bits: 8 });
  const x = fromDLPack({ [DLPACK]: () => external });
  equal(x.toArray(), [0, 1, 2, 3]);
  peer.pokeByte(addressOf(x) + 1n, 50);
  equal(x.get(1), 50);
  throws('ConsumedError', 'consumed', () => fromDLPack({ [DLPACK]: () => external }));
  equal(peer.takeExternal(external), null, 'nor can the other addon take it again');
  equal(peer.deletions(), before);
  x.dispose();
  ok(await collectUntil(() => peer.deletions() > before));
  await collect();
  equal(peer.deletions(), before + 1);
  equal(fromDLPack(peer.makeExternal({ shape: [2n] })).size, 2, 'a bare external is accepted too');
});

test('a foreign producer: zero-copy, released once', () => {
  const { object, record } = producer();
  const x = fromDLPack(object);
  equal(x.toArray(), [
    [1, 2, 3],
    [4, 5, 6],
  ]);
  record.array[0] = 9;
  equal(x.get(0, 0), 9);
  x.set(1, 2, 7);
  equal(record.array[5], 7);
  const y = fromDLPack(x);
  x.dispose();
  equal(record.deleted, 0);
  y.dispose();
  y.dispose();
  equal(record.deleted, 1);
});

test('the request has the version, the device, copy, the stream and what we accept', () => {
  const { object, record } = producer();
  fromDLPack(object).dispose();
  const nothing = { device: null, gpuDevice: null, copy: null, stream: null };
  equal(record.request, { maxVersion: [1, 3], ...nothing, native: true, memory: true });
  fromDLPack(object, { device: 'cpu', copy: false }).dispose();
  equal(record.request?.device, { type: 1, id: 0 });
  equal(record.request?.copy, false);
});

test('copy: true is honoured even when the producer ignores it', () => {
  const { object, record } = producer();
  const x = fromDLPack(object, { copy: true });
  equal(record.deleted, 1);
  record.array[0] = 9;
  equal(x.get(0, 0), 1);
});

test('a producer that sends another device than requested', () => {
  const { object, record } = producer();
  throws('BufferError', "'cuda:0'", () => fromDLPack(object, { device: 'cuda:0' }));
  equal(record.deleted, 1);
});

test('__dlpack__ methods and missing strides are accepted', () => {
  const { object } = producer({ strides: null });
  const foreign = { __dlpack__: (request: DLPackRequest) => object[DLPACK](request), __dlpack_device__: () => [1, 0] };
  equal(fromDLPack(foreign).strides, [3, 1]);
  const callable = Object.assign(() => 0, foreign);
  equal(fromDLPack(callable).shape, [2, 3]);
});

test('a managed tensor is consumed exactly once', () => {
  const { object, record } = producer();
  const managed = object[DLPACK]();
  const again = { [DLPACK]: () => managed };
  const x = fromDLPack(again);
  throws('ConsumedError', 'consumed', () => fromDLPack(again));
  equal(record.deleted, 0);
  x.dispose();
  throws('ConsumedError', 'consumed', () => fromDLPack(again));
  equal(record.deleted, 1);
});

test('a managed tensor without a deleter can be consumed again, unless it is a copy', () => {
  const { object } = producer();
  const managed = { ...object[DLPACK](), deleter: null };
  const again = { [DLPACK]: () => managed };
  const [x, y] = [fromDLPack(again), fromDLPack(again)];
  x.set(0, 0, 42);
  equal(y.get(0, 0), 42);
  x.dispose();
  equal(y.get(0, 0), 42);
  const copy = { ...managed, flags: ManagedFlag.isCopied };
  fromDLPack({ [DLPACK]: () => copy });
  throws('ConsumedError', 'consumed', () => fromDLPack({ [DLPACK]: () => copy }));
});

test('bad managed tensors give a typed error, and the deleter is called once', () => {
  const throwing = {
    get code() {
      throw new Error('getter');
    },
  };
  const cases: [object, Parameters<typeof throws>[0], string][] = [
    [{ version: [2, 0] }, 'VersionError', '2.0'],
    [{ version: 3 }, 'TypeError', 'version'],
    [{ data: new Uint8Array(4) }, 'TypeError', 'data'],
    [{ data: { byteLength: 1e9 } }, 'TypeError', 'data'],
    [{ data: null }, 'TypeError', 'data'],
    [{ data: new ArrayBuffer(20) }, 'LayoutError', '24 bytes'],
    [{ byteOffset: 4 }, 'LayoutError', '28 bytes'],
    [{ byteOffset: -4 }, 'TypeError', 'byteOffset'],
    [{ shape: [2, -3] }, 'ValueError', 'zero or more'],
    [{ shape: 'ab' }, 'TypeError', 'shape'],
    [{ shape: { length: 2 ** 31 } }, 'TypeError', 'shape'],
    [{ shape: new Array(65).fill(1) }, 'LayoutError', '64 axes'],
    [{ strides: [3] }, 'LayoutError', '2 strides'],
    [{ strides: [-3, 1] }, 'LayoutError', 'before its start'],
    [{ dtype: { code: 99, bits: 8, lanes: 1 } }, 'UnsupportedDTypeError', '99'],
    [{ dtype: null }, 'ForeignError', 'reading it failed'],
    [{ dtype: throwing }, 'ForeignError', 'getter'],
    [{ device: { type: 77, id: 0 } }, 'UnsupportedDeviceError', '77'],
    [{ data: { gpuBuffer: { size: 64, usage: 0 }, gpuDevice: {} } }, 'UnsupportedDeviceError', 'webgpu'],
    [{ data: 0n }, 'LayoutError', 'NULL'],
  ];
  for (const [change, tag, text] of cases) {
    const { object, record } = producer(change);
    throws(tag, text, () => fromDLPack(object));
    equal(record.deleted, 1, JSON.stringify(Object.keys(change)));
  }
  throws('TypeError', 'deleter', () => fromDLPack(producer({ deleter: 5 }).object));
  for (const value of [null, undefined, 5, 'x', Symbol('s')])
    throws('TypeError', 'source', () => fromDLPack(value as never));
  throws('TypeError', '__dlpack__ method', () => fromDLPack({} as DLPackSource));
  throws('TypeError', 'ManagedTensor', () => fromDLPack({ [DLPACK]: () => 5 } as never));
  throws('TypeError', 'TensorView', () => fromDLPack(Tensor.from([1]).view()));
});

test('a deleter that throws is reported by dispose, once, and does not stop the collector', async () => {
  let calls = 0;
  const { object } = producer({
    deleter: () => {
      calls++;
      throw new Error('cannot release');
    },
  });
  const x = fromDLPack(object);
  throws('ForeignError', 'cannot release', () => x.dispose());
  x.dispose();
  equal(calls, 1);
  (() => fromDLPack(object))();
  ok(await collectUntil(() => calls === 2));
});

test('never disposed: the collector calls the deleter once', async () => {
  const { object, record } = producer();
  (() => fromDLPack(object))();
  ok(await collectUntil(() => record.deleted === 1));
  equal(record.deleted, 1);
});

test('a typed array keeps a foreign producer’s memory alive', async () => {
  const { object, record } = producer();
  const data = (() => fromDLPack(object).data)();
  for (let i = 0; i < 5; i++) await collect();
  equal([record.deleted, data.length], [0, 6]);
});

test('a GPUBuffer travels with its device', () => {
  const gpuBuffer = { size: 64, usage: 128 };
  const gpuDevice = {};
  const { object, record } = producer({ data: { gpuBuffer, gpuDevice }, device: { type: 15, id: 0 } });
  const x = fromDLPack(object);
  equal([x.device, x.shape], ['webgpu:0', [2, 3]]);
  throws('UnsupportedDeviceError', 'webgpu', () => x.data);
  const managed = x[DLPACK]() as ManagedTensor;
  const sent = managed.data as { gpuBuffer: unknown; gpuDevice: unknown };
  ok(sent.gpuBuffer === gpuBuffer && sent.gpuDevice === gpuDevice);
  managed.deleter?.();
  x.dispose();
  equal(record.deleted, 1);
});

testWith(peerMissing, 'an address is read, and its deleter runs on this thread', async () => {
  const memory = Tensor.from([1, 2, 3, 4], { dtype: 'float32' });
  let deleted = 0;
  const { object } = producer({
    data: addressOf(memory),
    shape: [2],
    strides: [-2],
    byteOffset: 8,
    deleter: () => {
      deleted++;
    },
  });
  const x = fromDLPack(object);
  equal(x.toArray(), [3, 1]);
  equal(addressOf(x), addressOf(memory) + 8n);
  memory.set(0, 9);
  equal(x.get(1), 9);
  x.dispose();
  ok(await collectUntil(() => deleted === 1));
});

test('our producer side: versions, devices, copies, buffers', async () => {
  await collect();
  const x = Tensor.from(
    [
      [1, 2],
      [3, 4],
    ],
    { dtype: 'float32' },
  );
  equal(x[DLPACK_DEVICE](), { type: 1, id: 0 });
  const live = liveCounts().storages;
  const transposed = x.transpose();
  const managed = transposed[DLPACK]() as ManagedTensor;
  transposed.dispose();
  equal([managed.version, managed.flags, managed.byteOffset], [[1, 3], 0, x.data.byteOffset]);
  equal(
    [managed.shape, managed.strides],
    [
      [2, 2],
      [1, 2],
    ],
  );
  equal(
    [managed.dtype, managed.device],
    [
      { code: 2, bits: 32, lanes: 1 },
      { type: 1, id: 0 },
    ],
  );
  const shown = new Float32Array(managed.data as ArrayBuffer, managed.byteOffset, 4);
  shown[0] = 9;
  equal(x.get(0, 0), 9);
  x.dispose();
  equal(shown.length, 4, 'the managed tensor holds a reference of its own');
  managed.deleter?.();
  managed.deleter?.();
  equal(shown.length, hasExternalBuffers ? 0 : 4);
  ok(await collectUntil(() => liveCounts().storages <= live - 1));

  const y = Tensor.from([1, 2], { dtype: 'int8' });
  throws('BufferError', 'at most 0.8', () => y[DLPACK]({ maxVersion: [0, 8] }));
  equal((y[DLPACK]({ maxVersion: [2, 0] }) as ManagedTensor).version, [1, 3]);
  throws('BufferError', "'cuda:0'", () => y[DLPACK]({ device: { type: 2, id: 0 } }));
  throws('BufferError', 'stream', () => y[DLPACK]({ stream: 1n }));
  const copy = y[DLPACK]({ copy: true }) as ManagedTensor;
  equal(copy.flags, 2);
  new Int8Array(copy.data as ArrayBuffer)[0] = 9;
  equal(y.get(0), 1);
  copy.deleter?.();
});

test('the protocol method of a subclass is called', () => {
  let asked = 0;
  class Mine extends Tensor {
    override [DLPACK](request?: DLPackRequest) {
      asked++;
      return super[DLPACK](request);
    }
  }
  const inner = Tensor.from([1, 2]);
  const mine = Object.setPrototypeOf(inner, Mine.prototype) as Mine;
  equal(fromDLPack(mine).toArray(), [1, 2]);
  equal(asked, 1);
});

testWith(peerMissing, 'native external to another addon', () => {
  const x = Tensor.from([1, 2, 3], { dtype: 'uint8' });
  const live = liveCounts().exports;
  const external = x[DLPACK]({ native: true });
  ok(peer.isExternal(external));
  const taken = peer.takeExternal(external);
  ok(taken !== null);
  equal([taken.data, taken.shape], [addressOf(x), [3]]);
  x.dispose();
  peer.pokeByte(taken.data, 9);
  equal(peer.peekByte(taken.data), 9);
  equal(liveCounts().exports, live + 1);
  peer.deleteVersioned(taken.address);
  equal(liveCounts().exports, live);
  // JavaScript consumers get memory that native code cannot keep as a buffer.
  const wrapped = Tensor.wrap(new Uint8Array(2))[DLPACK]({ native: true }) as ManagedTensor;
  ok(wrapped.data instanceof ArrayBuffer);
});

testWith(peerMissing, 'a native consumer gets an external for every tensor, or an error', () => {
  const array = new Uint8Array([1, 2, 3, 4]);
  const sources: Record<string, Tensor> = {
    'native memory': Tensor.from(array),
    'a wrapped array': Tensor.wrap(array),
    'a part of a wrapped array': Tensor.wrap(array, { byteOffset: 1, shape: [2], readonly: true }),
    'a shared buffer': Tensor.wrap(new Uint8Array(new SharedArrayBuffer(4))),
    'packed elements inside a byte': Tensor.wrap(array, { dtype: 'int4' }).slice([1, 3]),
  };
  for (const [name, x] of Object.entries(sources)) {
    for (const copy of [true, null] as const) {
      const live = liveCounts();
      const taken = peer.takeExternal(x[DLPACK]({ native: 'only', copy }));
      ok(taken !== null, name);
      equal(taken.shape, x.shape, name);
      peer.deleteVersioned(taken.address);
      equal([liveCounts().exports, liveCounts().storages], [live.exports, live.storages], name);
    }
  }
  const kept = peer.takeExternal(Tensor.wrap(array)[DLPACK]({ native: 'only' }));
  ok(kept !== null);
  array[0] = 9;
  equal([peer.peekByte(kept.data), peer.readVersioned(kept.address).flags], [1, 2], 'a copy, marked as one');
  peer.deleteVersioned(kept.address);
  throws('BufferError', 'Tensor.adopt', () => Tensor.wrap(array)[DLPACK]({ native: 'only', copy: false }));
});

testWith(peerMissing, 'toExternal: memory for another addon, shared where the addon can keep it', () => {
  const x = Tensor.from([1, 2], { dtype: 'uint8' });
  for (const tensor of [x, x.view()]) {
    const live = liveCounts();
    const shared = peer.takeExternal(toExternal(tensor, { copy: false }));
    ok(shared !== null);
    x.set(0, 7);
    equal(peer.peekByte(shared.data), 7);
    peer.deleteVersioned(shared.address);
    equal([liveCounts().exports, liveCounts().storages], [live.exports, live.storages]);
  }
  const copied = peer.takeExternal(toExternal(x, { copy: true }));
  ok(copied !== null);
  x.set(0, 8);
  equal(peer.peekByte(copied.data), 7);
  peer.deleteVersioned(copied.address);
  ok(fromDLPack(toExternal(x)).sharesMemory(x));
  throws('BufferError', 'Tensor.adopt', () => toExternal(Tensor.wrap(new Uint8Array(2)), { copy: false }));
  throws('TypeError', 'a Tensor', () => toExternal(new Uint8Array(2) as never));
  throws('TypeError', "did you mean 'copy'", () => toExternal(x, { cpy: true } as never));
  x.dispose();
  throws('DisposedError', '', () => toExternal(x));
});

test('misaligned memory is copied where a copy is allowed, and released once', () => {
  const bytes = new Uint8Array(4 * 6 + 3);
  new Uint8Array(new Float32Array([1, 2, 3, 4, 5, 6]).buffer).forEach((byte, i) => {
    bytes[i + 3] = byte;
  });
  for (const copy of [undefined, null, true] as const) {
    const { object, record } = producer({ data: bytes.buffer, byteOffset: 3 });
    const x = fromDLPack(object, copy === undefined ? undefined : { copy }) as Tensor<'float32'>;
    equal(x.toArray(), [
      [1, 2, 3],
      [4, 5, 6],
    ]);
    equal([record.deleted, x.isCopied], [1, true]);
    x.set(0, 0, 7);
    equal(bytes[3 + 3], 0x3f, 'the original is untouched');
    x.dispose();
    equal(record.deleted, 1);
  }
  const strided = producer({ data: bytes.buffer, byteOffset: 3 + 4 * 5, strides: [-3, -1] });
  equal(fromDLPack(strided.object).toArray(), [
    [6, 5, 4],
    [3, 2, 1],
  ]);
  const refused = producer({ data: bytes.buffer, byteOffset: 3 });
  throws('BufferError', 'multiple of 4 bytes (copy: false)', () => fromDLPack(refused.object, { copy: false }));
  equal(refused.record.deleted, 1);
  const outside = producer({ data: bytes.buffer, byteOffset: 5 });
  throws('LayoutError', 'memory of 29 bytes', () => fromDLPack(outside.object));
  equal(outside.record.deleted, 1);
});

test('misaligned memory at an address is copied, and released once', async () => {
  const bytes = Tensor.from(new Uint8Array([0, 1, 0, 2, 0, 3, 0, 0]));
  const change = {
    data: addressOf(bytes),
    byteOffset: 1,
    shape: [3],
    strides: [1],
    dtype: { code: 1, bits: 16, lanes: 1 },
  };
  const { object, record } = producer(change);
  const x = fromDLPack(object);
  equal([x.toArray(), x.isCopied], [[1, 2, 3], true]);
  ok(await collectUntil(() => record.deleted === 1));
  const refused = producer(change);
  throws('BufferError', 'copy: false', () => fromDLPack(refused.object, { copy: false }));
  equal(refused.record.deleted, 1);
  bytes.dispose();
});

testWith(peerMissing, 'a misaligned native external is copied where a copy is allowed, and released once', () => {
  const changes = { shape: [3n], code: 0, bits: 32 };
  // What lies at that address, byte by byte.
  const valuesAt = (change: object) => {
    const source = fromDLPack(peer.makeExternal({ ...change, shape: [12n], code: 1, bits: 8 }));
    const bytes = new Uint8Array(source.toArray() as number[]);
    source.dispose();
    return [...new Int32Array(bytes.buffer)];
  };
  for (const [change, flags] of [
    [{ misalign: 2 }, 0],
    [{ misalign: 1, flags: 1 }, 1],
    [{ byteOffset: 3 }, 0],
  ] as const) {
    for (const copy of [undefined, null, true] as const) {
      const before = peer.deletions();
      const x = fromDLPack(peer.makeExternal({ ...changes, ...change }), copy === undefined ? undefined : { copy });
      equal([x.dtype, x.shape, x.isCopied, x.isReadOnly], ['int32', [3], true, false], String(flags));
      equal(peer.deletions(), before + 1);
      equal(x.toArray(), valuesAt(change));
      const after = peer.deletions();
      x.dispose();
      equal(peer.deletions(), after);
    }
    const before = peer.deletions();
    throws('BufferError', 'copy: false', () =>
      fromDLPack(peer.makeExternal({ ...changes, ...change }), { copy: false }),
    );
    equal(peer.deletions(), before + 1);
  }
  // The producer's struct does not change, neither on success nor when the tensor is refused.
  for (const shape of [[3n], [-3n]]) {
    const external = peer.makeExternal({ ...changes, shape, misalign: 2 });
    if (shape[0] === 3n) fromDLPack(external).dispose();
    else throws('LayoutError', 'zero or more', () => fromDLPack(external));
    equal(peer.deletedDType(), 0 | (32 << 8) | (1 << 16));
  }
  const complex = fromDLPack(peer.makeExternal({ shape: [2n], code: 5, bits: 64, misalign: 2 }));
  equal([complex.dtype, complex.isCopied], ['complex64', true]);
  throws('UnsupportedDTypeError', '', () =>
    fromDLPack(peer.makeExternal({ shape: [2n], code: 2, bits: 24, misalign: 1 })),
  );
});

testWith(
  peerMissing,
  'an external without elements needs no alignment, and its lengths follow the rule for Arrays',
  () => {
    const before = peer.deletions();
    const x = fromDLPack(peer.makeExternal({ shape: [0n, 3n], code: 2, bits: 32, misalign: 2 }), { copy: false });
    equal([x.shape, x.isCopied, x.data.length], [[0, 3], false, 0]);
    x.dispose();
    equal(fromDLPack(peer.makeExternal({ shape: [0n, 2n ** 52n] })).size, 0);
    throws('LayoutError', '2^53', () => fromDLPack(peer.makeExternal({ shape: [2n ** 52n, 2n ** 52n, 0n] })));
    ok(peer.deletions() >= before + 2);
  },
);

test('flags are a number or a bigint', () => {
  for (const flags of [ManagedFlag.readonly, DLPACK_FLAG_BITMASK_READ_ONLY]) {
    equal(fromDLPack(producer({ flags }).object).isReadOnly, true);
  }
  equal([ManagedFlag.readonly, ManagedFlag.isCopied, ManagedFlag.subBytePadded], [1, 2, 4]);
});

testWith(peerMissing, 'externals that are never consumed are released by the collector', async () => {
  await collect();
  const before = peer.deletions();
  (() => peer.makeExternal({ shape: [4n] }))();
  ok(await collectUntil(() => peer.deletions() > before));
  const live = liveCounts().exports;
  (() => Tensor.from([1])[DLPACK]({ native: true }))();
  ok(await collectUntil(() => liveCounts().exports <= live));
});

testWith(
  peerMissing,
  'a hostile external is refused and released, and an external without our tag is not touched',
  () => {
    equal(
      countDeletions(() => throws('LayoutError', '-1', () => fromDLPack(peer.makeExternal({ shape: [-1n] })))),
      1,
    );
    throws('TypeError', '__dlpack__ method', () => fromDLPack(peer.makeForeignExternal()));
    equal(peer.isExternal(peer.makeForeignExternal()), false);
    notEqual(peer.isExternal(peer.makeExternal({ shape: [1n] })), false);
  },
);

test('a tensor like the one before is checked for what differs', () => {
  const send = (data: ArrayBuffer, more: Partial<ManagedTensor> = {}) =>
    fromDLPack({
      [DLPACK]: (): ManagedTensor => ({
        version: [1, 3],
        flags: 0,
        data,
        byteOffset: 0,
        shape: [2, 2],
        strides: [2, 1],
        dtype: { code: 2, bits: 32, lanes: 1 },
        device: { type: 1, id: 0 },
        ...more,
      }),
      [DLPACK_DEVICE]: () => ({ type: 1, id: 0 }),
    });
  const values = (from: number) => new Float32Array([from, from + 1, from + 2, from + 3, 9]);
  const first = send(values(1).buffer);
  const second = send(values(5).buffer);
  equal(
    [first.toArray(), second.toArray()],
    [
      [
        [1, 2],
        [3, 4],
      ],
      [
        [5, 6],
        [7, 8],
      ],
    ],
  );
  throws('LayoutError', '16 bytes', () => send(new ArrayBuffer(12)));
  equal(send(new ArrayBuffer(16)).shape, [2, 2]);
  equal(send(values(1).buffer, { strides: [1, 2] }).get(0, 1), 3);
  equal(send(values(1).buffer, { byteOffset: 4 }).get(0, 0), 2);
  equal(send(values(1).buffer, { flags: 1 }).isReadOnly, true);
  equal(send(values(1).buffer).isReadOnly, false);
  equal(send(values(1).buffer, { strides: null }).get(1, 0), 3);
  equal(send(values(5).buffer, { strides: null }).get(1, 0), 7);
  equal(send(values(5).buffer).get(1, 0), 7);
  equal(send(values(1).buffer, { dtype: { code: 0, bits: 32, lanes: 1 } }).dtype, 'int32');
  equal(send(values(1).buffer, { shape: [4], strides: [1] }).toArray(), [1, 2, 3, 4]);
  throws('LayoutError', 'strides', () => send(values(1).buffer, { shape: [4], strides: [1, 1] }));
  throws('TypeError', 'shape', () => send(values(1).buffer, { shape: null as never }));
  throws('UnsupportedDeviceError', 'host device', () => send(values(1).buffer, { device: { type: 2, id: 0 } }));
});
