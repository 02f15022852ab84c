import { DLPACK, DLPACK_VERSION, type DType, dtypes, expectTensor, fromDLPack, parseDType, Tensor } from 'dlpack';
import { liveCounts } from 'dlpack/debug';
import { addressOf, exchangeApi, exportManaged, importManaged, releaseManaged } from 'dlpack/native';
import { openTensor, shareTensor } from 'dlpack/shared';
import { equal, notEqual, ok, throws } from '../assert.js';
import { collect, collectUntil, hasExternalBuffers, test, testWith } from '../harness.js';
import { countDeletions, peer, peerMissing } from './peer.js';

testWith(peerMissing, 'an export is a real DLManagedTensorVersioned', () => {
  const x = Tensor.from(
    [
      [1, 2, 3],
      [4, 5, 6],
    ],
    { dtype: 'float32' },
  );
  const address = exportManaged(x);
  const seen = peer.readVersioned(address);
  equal([seen.major, seen.minor], [...DLPACK_VERSION]);
  equal([seen.ndim, seen.shape, seen.strides], [2, [2, 3], [3, 1]]);
  equal([seen.code, seen.bits, seen.lanes, seen.device, seen.deviceId], [2, 32, 1, 1, 0]);
  equal([seen.flags, seen.byteOffset, seen.hasDeleter], [0, 0, 1]);
  equal(seen.data, addressOf(x));
  equal(seen.data % 256n, 0n, 'aligned to 256 bytes');
  const live = liveCounts().exports;
  peer.deleteVersioned(address);
  equal(liveCounts().exports, live - 1);
});

testWith(peerMissing, 'the exported memory outlives the tensor, and both see writes', () => {
  const x = Tensor.from([1, 2, 3], { dtype: 'uint8' });
  const address = exportManaged(x);
  const { data } = peer.readVersioned(address);
  peer.pokeByte(data, 77);
  equal(x.get(0), 77);
  x.set(1, 88);
  x.dispose();
  equal(peer.peekByte(data + 1n), 88);
  peer.deleteVersioned(address);
});

testWith(peerMissing, 'views: offset folded into the pointer, strides kept, legacy too', () => {
  const x = Tensor.from(
    [
      [1, 2, 3],
      [4, 5, 6],
    ],
    { dtype: 'int16' },
  );
  const view = x.slice([1, null], [null, null, -1]);
  for (const versioned of [true, false]) {
    const address = exportManaged(view, { versioned });
    const seen = versioned ? peer.readVersioned(address) : peer.readLegacy(address);
    equal(seen.data, addressOf(x) + 10n);
    equal([seen.shape, seen.strides, seen.byteOffset], [[1, 3], [3, -1], 0]);
    releaseManaged(address, { versioned });
  }
});

testWith(peerMissing, 'zero-size gives NULL data and strides; 0-d works', () => {
  const address = exportManaged(Tensor.zeros([3, 0, 2], 'float64'));
  const seen = peer.readVersioned(address);
  equal([seen.data, seen.shape, seen.strides], [0n, [3, 0, 2], [2, 2, 1]]);
  const back = importManaged(address);
  equal([back.shape, back.data.length], [[3, 0, 2], 0]);
  back.dispose();
  const scalar = importManaged(exportManaged(Tensor.from(5)));
  equal([scalar.shape, scalar.item()], [[], 5]);
});

testWith(peerMissing, 'lengths and strides within and beyond 32 bits cross unchanged', () => {
  const x = Tensor.from([1, 2]);
  for (const length of [2 ** 31 - 1, 2 ** 31, 2 ** 33, 2 ** 50]) {
    const address = exportManaged(x.reshape([1, 2]).broadcastTo([length, 2]));
    const seen = peer.readVersioned(address);
    equal(
      [seen.shape, seen.strides],
      [
        [length, 2],
        [0, 1],
      ],
      'a length',
    );
    using back = importManaged(address);
    equal([back.shape, back.strides, back.get(length - 1, 1)], [[length, 2], [0, 1], 2]);
  }
  const memory = new Float64Array(new SharedArrayBuffer(16));
  for (const stride of [2 ** 31 - 1, 2 ** 31, -(2 ** 31), -(2 ** 31) - 1, 2 ** 40]) {
    const wrapped = Tensor.wrap(memory, { shape: [2, 1], strides: [1, stride] }); // one element needs no stride
    const address = exportManaged(wrapped);
    equal(peer.readVersioned(address).strides, [1, stride], 'a stride');
    releaseManaged(address);
  }
});

testWith(peerMissing, 'exports of more layouts than native code keeps, in turns and again', () => {
  const x = Tensor.from(new Float32Array(720));
  const shapes = Array.from({ length: 20 }, (_, i) => (i === 0 ? [] : i % 2 === 0 ? [i, 2] : [1, i, 3, 2]));
  const tensors = shapes.map((shape) =>
    shape.length === 0 ? x.slice(5) : x.slice([0, product(shape)]).reshape(shape),
  );
  const shared = [
    ...tensors,
    ...tensors.map((tensor) => fromDLPack(tensor)),
    ...tensors.map((tensor) => tensor.flip()),
  ];
  for (let round = 0; round < 3; round++) {
    for (const [i, tensor] of shared.entries()) {
      for (let again = 0; again <= i % 3; again++) {
        const address = exportManaged(tensor);
        const seen = peer.readVersioned(address);
        equal([seen.shape, seen.strides], [[...tensor.shape], [...tensor.strides]]);
        equal(seen.data, addressOf(tensor));
        peer.deleteVersioned(address);
      }
    }
  }
});

const product = (lengths: readonly number[]) => lengths.reduce((a, b) => a * b, 1);

testWith(peerMissing, 'flags travel both ways', () => {
  for (const flags of [0, 1, 2, 3]) {
    const x = importManaged(peer.makeVersioned({ shape: [4n], flags }));
    equal([x.isReadOnly, x.isCopied, x.isPadded], [(flags & 1) !== 0, (flags & 2) !== 0, false]);
    const address = exportManaged(x);
    equal(peer.readVersioned(address).flags, flags & 5, 'not is-copied: x holds the memory, too');
    equal(x.isCopied, false);
    releaseManaged(address);
    x.dispose();
  }
  const padded = importManaged(peer.makeVersioned({ shape: [3n], code: 17, bits: 4, flags: 4 }));
  equal([padded.isPadded, padded.nbytes, padded.toArray()], [true, 3, [0, 0.5, 1]]);
  const packed = importManaged(peer.makeVersioned({ shape: [4n], code: 17, bits: 4 }));
  equal([packed.isPadded, packed.nbytes, packed.toArray()], [false, 2, [0, 0, 0.5, 0]]);
  const unknown = importManaged(peer.makeVersioned({ shape: [2n], flags: 1024, minor: 99 }));
  equal([unknown.isReadOnly, unknown.size], [false, 2]);
  // A view of a copy is shared, so it is no longer a copy for one consumer.
  const copied = importManaged(peer.makeVersioned({ shape: [4n], flags: 2 }));
  equal(copied.slice([0, 2]).isCopied, false);
  throws('BufferError', 'read-only', () =>
    exportManaged(Tensor.wrap(new Uint8Array(2), { readonly: true }), { versioned: false }),
  );
  throws('BufferError', 'padded', () => exportManaged(padded, { versioned: false }));
});

testWith(peerMissing, 'options that are not an object throw before anything is imported or exported', async () => {
  const before = liveCounts();
  for (const bad of [false, null, 'legacy', []]) {
    const options = bad as never;
    const made = Tensor.from([1], { dtype: 'uint8' });
    const address = exportManaged(made);
    made.dispose();
    throws('TypeError', 'an object such as { versioned: false }', () => importManaged(address, options));
    throws('TypeError', 'an object such as { versioned: false }', () => releaseManaged(address, options));
    const x = importManaged(address);
    throws('TypeError', 'an object such as { copy: false }', () => exportManaged(x, options));
    equal(x.toArray(), [1]);
    x.dispose();
  }
  ok(await collectUntil(() => liveCounts().exports <= before.exports && liveCounts().storages <= before.storages));
});

testWith(peerMissing, 'every dtype crosses out and in unchanged', () => {
  for (const name of dtypes.flatMap((base) => [base, `${base}x2`] as DType[])) {
    const x = Tensor.zeros([2, 4], name);
    const address = exportManaged(x);
    const { code, bits, lanes } = parseDType(name);
    const seen = peer.readVersioned(address);
    equal([seen.code, seen.bits, seen.lanes], [code, bits, lanes], name);
    const y = importManaged(address);
    equal([y.dtype, y.shape, addressOf(y)], [name, [2, 4], addressOf(x)]);
  }
});

testWith(peerMissing, 'an import shares the producer’s memory and deletes it once', () => {
  const recipe = { shape: [2n, 3n], strides: [3n, 1n], code: 1, bits: 8, byteOffset: 4 };
  for (const versioned of [true, false]) {
    const address = versioned ? peer.makeVersioned(recipe) : peer.makeLegacy(recipe);
    const { data } = versioned ? peer.readVersioned(address) : peer.readLegacy(address);
    const x = expectTensor(importManaged(address, { versioned }), { dtype: 'uint8' });
    equal(addressOf(x), data + 4n, 'byte_offset is honoured');
    equal(x.toArray(), [
      [4, 5, 6],
      [7, 8, 9],
    ]);
    peer.pokeByte(data + 5n, 200);
    equal(x.get(0, 1), 200);
    x.data[5] = 99;
    equal(peer.peekByte(data + 9n), hasExternalBuffers ? 99 : 9);
    x.set(1, 2, 98);
    equal(peer.peekByte(data + 9n), 98);
    const y = x.slice(0);
    equal(
      countDeletions(() => x.dispose()),
      0,
      'a view still owns it',
    );
    equal(
      countDeletions(() => x.dispose()),
      0,
    );
    y.dispose();
  }
});

testWith(peerMissing, 'deleted exactly once without .data, after the tick with it', async () => {
  const recipe = { shape: [4n] };
  equal(
    countDeletions(() => importManaged(peer.makeVersioned(recipe)).dispose()),
    1,
  );
  const x = importManaged(peer.makeVersioned(recipe));
  const { data } = x;
  await collect(); // objects that earlier tests left behind
  // The collector may still release some of those meanwhile, and then the package has fewer imports.
  const made = () => liveCounts().imports + peer.deletions();
  const [before, deletions] = [made(), peer.deletions()];
  x.dispose();
  equal(data.length, 0);
  ok(await collectUntil(() => peer.deletions() > deletions && made() === before));
  await collect();
  ok(made() <= before, 'an import is deleted once'); // less while a deletion waits for its turn
});

testWith(peerMissing, 'NULL strides are row-major; negative strides keep their first element', () => {
  const x = importManaged(peer.makeVersioned({ shape: [2n, 2n], code: 1, bits: 8 }));
  equal(
    [x.strides, x.toArray()],
    [
      [2, 1],
      [
        [0, 1],
        [2, 3],
      ],
    ],
  );
  const y = importManaged(peer.makeVersioned({ shape: [3n], strides: [-2n], byteOffset: 4, code: 1, bits: 8 }));
  equal([y.toArray(), y.byteOffset], [[4, 2, 0], 4]);
  const z = importManaged(peer.makeVersioned({ shape: [2n, 3n], strides: [0n, 1n], code: 1, bits: 8 }));
  equal(z.toArray(), [
    [0, 1, 2],
    [0, 1, 2],
  ]);
  // The stride of an axis with one element is never used and may be anything.
  const w = importManaged(peer.makeVersioned({ shape: [1n, 2n], strides: [2n ** 62n, 1n], code: 1, bits: 8 }));
  equal([w.strides, w.toArray()], [[2, 1], [[0, 1]]]);
});

testWith(peerMissing, 'device memory is described but not accessed', () => {
  const x = importManaged(peer.makeVersioned({ shape: [4n], device: 2, deviceId: 3 }));
  equal([x.device, x.shape], ['cuda:3', [4]]);
  throws('UnsupportedDeviceError', 'cuda:3', () => x.data);
  throws('UnsupportedDeviceError', 'cuda:3', () => x.get(0));
  equal(String(x), 'Tensor float32 [4] cuda:3');
  const managed = importManaged(peer.makeVersioned({ shape: [4n], device: 13, code: 1, bits: 8 }));
  equal([managed.device, managed.toArray()], ['cuda_managed', [0, 1, 2, 3]]);
});

testWith(
  peerMissing,
  'an import of our own export has the same memory, unless a consumer changed the pointer',
  async () => {
    const x = Tensor.from([1, 2, 3, 4], { dtype: 'uint8' });
    const live = liveCounts();
    const y = importManaged(exportManaged(x.slice([1, null])));
    equal(
      [y.toArray(), y.byteOffset, liveCounts().exports, liveCounts().imports],
      [[2, 3, 4], 1, live.exports, live.imports],
    );
    const other = Tensor.from([9, 9, 9, 9], { dtype: 'uint8' });
    const moved = exportManaged(x);
    peer.moveData(moved, addressOf(other));
    const z = importManaged(moved);
    equal(z.toArray(), [9, 9, 9, 9]);
    z.dispose();
    ok(await collectUntil(() => liveCounts().exports <= live.exports), 'and its deleter ran');
  },
);

testWith(peerMissing, 'copies: on request, for JavaScript memory, never silently with copy: false', () => {
  const x = Tensor.from([1, 2], { dtype: 'uint8' });
  const address = exportManaged(x, { copy: true });
  const seen = peer.readVersioned(address);
  notEqual(seen.data, addressOf(x));
  equal(seen.flags, 2, 'is-copied');
  x.set(0, 9);
  equal(peer.peekByte(seen.data), 1);
  releaseManaged(address);

  const array = new Uint8Array([5, 6]);
  const wrapped = Tensor.wrap(array);
  throws('BufferError', 'Tensor.adopt', () => exportManaged(wrapped, { copy: false }));
  const copy = expectTensor(importManaged(exportManaged(wrapped)), { dtype: 'uint8' });
  array[0] = 7;
  equal([copy.get(0), copy.isCopied], [5, true]);

  const adopted = Tensor.adopt(new Uint8Array([5, 6]));
  const kept = exportManaged(adopted, { copy: false });
  equal(peer.readVersioned(kept).data, addressOf(adopted));
  adopted.dispose();
  equal(peer.peekByte(peer.readVersioned(kept).data), 5, 'alive without its tensor');
  releaseManaged(kept);

  const shared = Tensor.wrap(new Uint8Array(new SharedArrayBuffer(2)));
  const pinned = exportManaged(shared, { copy: false });
  peer.pokeByte(peer.readVersioned(pinned).data, 42);
  equal(shared.get(0), 42, 'a SharedArrayBuffer cannot be detached: no copy');
  releaseManaged(pinned);
  const nibble = Tensor.wrap(new Uint8Array([0x21, 0x43]), { dtype: 'uint4' }).slice([1, 3]);
  throws('BufferError', 'copy', () => exportManaged(nibble, { copy: false }));
  equal(importManaged(exportManaged(nibble)).toArray(), [2, 3]);
});

testWith(peerMissing, 'hostile structs: a typed error, one deletion, no crash', () => {
  const hostile: [string, Parameters<typeof peer.makeVersioned>[0], Parameters<typeof throws>[0], string][] = [
    ['negative length', { shape: [2n, -1n] }, 'LayoutError', '-1'],
    ['product overflow', { shape: [2n ** 40n, 2n ** 40n] }, 'LayoutError', '2^53'],
    ['length overflow', { shape: [2n ** 62n] }, 'LayoutError', '2^53'],
    ['empty with overflow', { shape: [0n, 2n ** 40n, 2n ** 40n] }, 'LayoutError', '2^53'],
    ['byte overflow', { shape: [2n ** 52n], bits: 64 }, 'LayoutError', '2^53'],
    ['span overflow', { shape: [3n], strides: [2n ** 62n] }, 'LayoutError', '2^53'],
    ['negative span', { shape: [2n, 3n], strides: [-(2n ** 61n), 2n ** 50n] }, 'LayoutError', '2^53'],
    ['stride of -2^63', { shape: [2n], strides: [-(2n ** 63n)] }, 'LayoutError', '2^53'],
    ['NULL shape', { shape: [2n], nullShape: true }, 'LayoutError', 'NULL'],
    ['NULL data', { shape: [2n], nullData: true }, 'LayoutError', 'NULL'],
    ['1000 axes', { shape: [2n], ndim: 1000 }, 'LayoutError', 'ndim 1000'],
    ['-1 axes', { shape: [], ndim: -1 }, 'LayoutError', 'ndim -1'],
    ['lanes 0', { shape: [2n], lanes: 0 }, 'UnsupportedDTypeError', 'lanes 0'],
    ['bits 0', { shape: [2n], bits: 0 }, 'UnsupportedDTypeError', 'bits 0'],
    ['bits that do not fit the code', { shape: [2n], code: 17, bits: 8 }, 'UnsupportedDTypeError', '8 bits'],
    ['bool of one bit', { shape: [8n], code: 6, bits: 1 }, 'UnsupportedDTypeError', "'bool'"],
    ['unknown code', { shape: [2n], code: 200 }, 'UnsupportedDTypeError', '200'],
    ['unknown device', { shape: [2n], device: 99 }, 'UnsupportedDeviceError', '99'],
    ['device 0', { shape: [2n], device: 0 }, 'UnsupportedDeviceError', 'received 0'],
    ['negative device id', { shape: [2n], deviceId: -1 }, 'UnsupportedDeviceError', '-1'],
    ['misaligned data', { shape: [2n], misalign: 2 }, 'BufferError', 'aligned'],
    ['misaligned offset', { shape: [2n], byteOffset: 3 }, 'BufferError', 'aligned'],
    ['misaligned complex part', { shape: [2n], code: 5, bits: 64, misalign: 2 }, 'BufferError', 'aligned'],
    ['offset beyond memory', { shape: [2n], byteOffset: 2 ** 60 }, 'LayoutError', '2^53'],
  ];
  for (const [name, recipe, tag, text] of hostile) {
    const live = liveCounts();
    for (const versioned of [true, false]) {
      const address = versioned ? peer.makeVersioned(recipe) : peer.makeLegacy(recipe);
      equal(
        countDeletions(() => throws(tag, text, () => importManaged(address, { versioned }))),
        1,
        name,
      );
    }
    equal(liveCounts(), live, name);
  }
});

testWith(peerMissing, 'another major version: only the deleter is used', () => {
  for (const major of [0, 2, 4294967295]) {
    // Reading anything after the stable part of the struct would crash.
    const address = peer.makeVersioned({ major, minor: 7, shape: [2n], nullShape: true, nullData: true, ndim: 1000 });
    const deletions = countDeletions(() => {
      const error = throws('VersionError', `${major}.7`, () => importManaged(address));
      equal([...error.found], [major, 7]);
    });
    equal(deletions, 1);
  }
});

testWith(peerMissing, 'a NULL deleter is not called', () => {
  const x = importManaged(peer.makeVersioned({ shape: [2n], nullDeleter: true }));
  equal(x.size, 2);
  x.dispose();
  throws('LayoutError', 'ndim', () => importManaged(peer.makeVersioned({ shape: [2n], nullDeleter: true, ndim: -1 })));
});

testWith(peerMissing, 'a copy that is passed on is not marked as a copy for the next consumer', () => {
  const made = () =>
    expectTensor(importManaged(peer.makeVersioned({ shape: [4n], code: 1, bits: 8, flags: 2 })), { dtype: 'uint8' });
  const ways: Record<string, (x: Tensor<'uint8'>) => object> = {
    'a managed tensor': (x) => x[DLPACK](),
    'a native external': (x) => x[DLPACK]({ native: true }),
    'an address': (x) => importManaged(exportManaged(x))[DLPACK]({ native: true }),
    'a second owner': (x) => fromDLPack(x)[DLPACK]({ native: true }),
    'a view': (x) => x.reshape([2, 2]).reshape([4])[DLPACK]({ native: true }),
    'a ticket': (x) => openTensor(structuredClone(shareTensor(x)))[DLPACK]({ native: true }),
  };
  for (const [name, hand] of Object.entries(ways)) {
    const x = made();
    equal(x.isCopied, true);
    const copy = fromDLPack({ [DLPACK]: () => hand(x) }, { copy: true }) as Tensor<'uint8'>;
    const before = x.get(0);
    copy.set(0, before + 9);
    equal(x.get(0), before, name);
    notEqual(addressOf(copy), addressOf(x), name);
    equal(fromDLPack({ [DLPACK]: () => hand(x) }, { copy: false }).get(0), before, name);
  }
});

test('a producer that sends a copy where none is allowed is refused, and its tensor released', () => {
  let deleted = 0;
  const producer = {
    [DLPACK]: () => ({ ...(Tensor.from([1])[DLPACK]() as object), flags: 2, deleter: () => deleted++ }),
  };
  throws('BufferError', 'copy: false', () => fromDLPack(producer, { copy: false }));
  equal(deleted, 1);
  equal(fromDLPack(producer, { copy: null }).isCopied, true);
});

test('invalid addresses are refused', () => {
  for (const address of [0n, 8n, 4095n, 65537n]) throws('ValueError', 'address', () => importManaged(address));
  throws('TypeError', 'bigint', () => importManaged(4096 as never));
  throws('TypeError', 'bigint', () => releaseManaged('x' as never));
  throws('ValueError', 'address', () => releaseManaged(0n));
  throws('TypeError', 'a Tensor', () => exportManaged({} as never));
  throws('TypeError', 'a Tensor', () => addressOf(null as never));
});

test('options that a function does not know are refused before anything is exchanged', () => {
  const x = Tensor.from([1, 2]);
  const { exports } = liveCounts();
  throws('TypeError', "did you mean 'versioned'?", () => exportManaged(x, { version: 1 } as never));
  equal(liveCounts().exports, exports);
  const address = exportManaged(x, { versioned: true, copy: null });
  throws('TypeError', "did you mean 'versioned'?", () => importManaged(address, { Versioned: true } as never));
  throws('TypeError', "received 'copy'", () => releaseManaged(address, { copy: true } as never));
  releaseManaged(address, { versioned: true });
  equal(liveCounts().exports, exports);
});

testWith(peerMissing, 'the exchange API table allocates and describes itself', () => {
  const api = exchangeApi();
  equal(api, exchangeApi());
  equal(peer.readExchangeApi(api), { major: 1, minor: 3, previous: 0, complete: 1, stream: 1 });
  const live = liveCounts().storages;
  const address = peer.allocate(api, { shape: [2n, 3n], code: 2, bits: 64 }) as bigint;
  const x = importManaged(address);
  equal([x.dtype, x.shape, x.strides, addressOf(x) % 256n], ['float64', [2, 3], [3, 1], 0n]);
  x.dispose();
  equal(liveCounts().storages, live);
  equal(importManaged(peer.allocate(api, { shape: [0n] }) as bigint).size, 0);
  equal(importManaged(peer.allocate(api, { shape: [5n], code: 17, bits: 4 }) as bigint).nbytes, 3);
  ok(String(peer.allocate(api, { shape: [2n], device: 2 })).startsWith('BufferError'));
  ok(String(peer.allocate(api, { shape: [-2n] })).startsWith('ValueError'));
  ok(String(peer.allocate(api, { shape: [2n], lanes: 0 })).startsWith('ValueError'));
  ok(String(peer.allocate(api, { shape: [2n ** 40n, 2n ** 40n] })).startsWith('ValueError'));
  ok(String(peer.allocate(api, { shape: [2n ** 50n] })).startsWith('MemoryError'));
});

testWith(peerMissing, 'the devices and the dtype of the main branch of DLPack cross in both directions', () => {
  for (const [device, name] of [
    [19, 'tpu:1'],
    [20, 'tpu_host'],
    [21, 'ascend:1'],
  ] as const) {
    using x = importManaged(peer.makeVersioned({ device, deviceId: 1, code: 18, bits: 32 }));
    equal([x.device, x.dtype], [name, 'bcomplex32']);
    const address = exportManaged(x);
    const seen = peer.readVersioned(address);
    equal([seen.device, seen.deviceId, seen.code, seen.bits], [device, device === 20 ? 0 : 1, 18, 32]);
    releaseManaged(address);
  }
});

testWith(peerMissing, 'the host reads and writes pinned memory of a TPU', () => {
  using x = importManaged(
    peer.makeVersioned({ device: 20, shape: [8n], byteOffset: 16, nbytes: 256, code: 1, bits: 8 }),
  );
  equal([x.get(0), x.get(7)], [16, 23], 'the byte at address a of the block is a');
  x.set(0, 200);
  equal([peer.peekByte(addressOf(x)), x.data[0]], [200, 200]);
});

testWith(peerMissing, 'a code or a device of the future is refused by its number, and deleted', () => {
  const newer = 'a newer version of this package may know it';
  for (const [recipe, tag, text] of [
    [{ code: 19, bits: 32 }, 'UnsupportedDTypeError', `received 19 (code 19, bits 32, lanes 1); ${newer}`],
    [{ device: 22, deviceId: 3 }, 'UnsupportedDeviceError', `received 22 (device id 3); ${newer}`],
  ] as const) {
    equal(
      countDeletions(() => throws(tag, text, () => importManaged(peer.makeVersioned(recipe)))),
      1,
    );
  }
});

testWith(peerMissing, 'on Metal data is an object: nothing adds an offset to it', () => {
  const metal = (byteOffset = 0) => peer.makeVersioned({ device: 8, shape: [8n], byteOffset, nbytes: 256 });
  const given = metal(16);
  const { data } = peer.readVersioned(given);
  using x = importManaged(given);
  using view = x.slice([2, 8]);
  for (const [tensor, offset] of [
    [x, 16],
    [view, 24],
  ] as const) {
    for (const versioned of [true, false]) {
      const address = exportManaged(tensor, { versioned });
      const seen = versioned ? peer.readVersioned(address) : peer.readLegacy(address);
      equal([seen.data, seen.byteOffset], [data, offset]);
      releaseManaged(address, { versioned });
    }
    const taken = peer.takeExternal(tensor[DLPACK]({ native: true }));
    equal([taken?.data, taken?.byteOffset], [data, offset], 'a native external');
    peer.deleteVersioned(taken?.address as bigint);
    throws('BufferError', "memory on 'metal:0', which has no JavaScript buffer", () => tensor[DLPACK]());
    const address = exportManaged(tensor);
    using again = importManaged(address);
    ok(again.sharesMemory(x), 'our own export comes back as the same memory');
    throws('UnsupportedDeviceError', 'metal:0, where data is an object of the driver', () => addressOf(tensor));
    throws('UnsupportedDeviceError', 'metal:0', () => tensor.data);
    throws('UnsupportedDeviceError', 'metal:0', () => tensor.get(0));
    ok(String(tensor).includes('metal:0'), String(tensor));
  }
  // Two objects whose addresses are near are two memories.
  using other = importManaged(metal());
  equal(other.sharesMemory(x), false);
});
