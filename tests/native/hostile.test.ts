/** Programs that try to make native code use a wrong number. Each of them once crashed or read foreign memory. */

import { DLPACK_DEVICE, expectTensor, fromDLPack, isDLPackError, Tensor } from 'dlpack';
import { liveCounts, setDebug } from 'dlpack/debug';
import { addressOf, exchangeApi, exportManaged, importManaged, releaseManaged } from 'dlpack/native';
import { fromNDAlloc } from 'dlpack/tvm-ffi';
import { equal, ok, throws } from '../assert.js';
import { runChild } from '../child.js';
import { collect, collectUntil, test, testWith } from '../harness.js';
import { countDeletions, peer, peerMissing, type Recipe } from './peer.js';

/** An array whose element has another value each time it is read. */
function changing(first: number, ...answers: number[]): number[] {
  const array = [first, 0];
  let reads = 0;
  Object.defineProperty(array, 1, { get: () => answers[Math.min(reads++, answers.length - 1)], enumerable: true });
  return array;
}

test('programs cannot choose a layout', () => {
  const x = Tensor.from([1, 2], { dtype: 'uint8' });
  const patched = x as unknown as Record<string, unknown>;
  equal([typeof patched.derive, typeof patched.kind], ['undefined', 'undefined']);
  class Sneaky extends Tensor {
    derive() {
      throw new Error('asked');
    }
  }
  equal((Object.setPrototypeOf(x, Sneaky.prototype) as Tensor).slice(0).get(), 1);
  const owner = Tensor.from([1, 2]);
  Tensor.prototype.dispose.call(owner.view() as Tensor);
  equal(owner.get(0), 1, 'disposing a view releases nothing');
});

test('arguments are read once', () => {
  const values = [1, 2, 3, 4, 5, 6];
  const x = Tensor.from(values, { dtype: 'uint8', shape: changing(-1, 1, 2 ** 27) as never });
  equal(x.size, 6);
  throws('LayoutError', '6 elements', () => Tensor.from(values, { shape: changing(6, 2 ** 27) }));
  throws('TypeError', 'axes', () => x.flip({ map: () => ['foo'] } as never));
  throws('TypeError', 'axes', () => x.squeeze({ map: () => ['foo'] } as never));
  const order = changing(0, 1, 0);
  equal(Tensor.from([[1, 2]]).transpose(order).shape, [1, 2]);
});

test('a buffer that shrinks or lies while it is adopted', () => {
  const Resizable = ArrayBuffer as unknown as new (n: number, o: object) => ArrayBuffer & { resize(n: number): void };
  const buffer = new Resizable(1 << 16, { maxByteLength: 1 << 16 });
  throws('LayoutError', 'bytes', () =>
    Tensor.adopt(new Uint8Array(buffer), {
      get shape() {
        buffer.resize(16);
        return [1 << 16];
      },
    }),
  );
  const plain = new Resizable(64, { maxByteLength: 128 });
  equal(Tensor.adopt(new Uint8Array(plain)).size, 64, 'a resizable buffer that keeps still');
  class Liar extends Uint8Array {
    override get byteLength() {
      return 1 << 30;
    }
  }
  equal(Tensor.wrap(new Liar(4)).size, 4);
  const Shared = SharedArrayBuffer as unknown as new (
    n: number,
    o: object,
  ) => SharedArrayBuffer & { grow(n: number): void };
  const growable = new Shared(8, { maxByteLength: 64 });
  const x = Tensor.wrap(new Uint8Array(growable, 0, 8));
  const address = exportManaged(x, { copy: false });
  growable.grow(64);
  new Uint8Array(growable)[7] = 5;
  equal(importManaged(address).get(7), 5, 'a shared buffer grows in place');
});

test('a buffer that only pretends to be shared or fixed is not pinned', () => {
  const fake = new ArrayBuffer(8);
  Object.setPrototypeOf(fake, SharedArrayBuffer.prototype);
  Object.defineProperty(fake, 'byteLength', { value: 8 });
  throws('BufferError', 'Tensor.adopt', () => exportManaged(Tensor.wrap(new Uint8Array(fake)), { copy: false }));
});

test('getters of options run before the message is written', () => {
  const x = Tensor.from([1, 2, 3], { dtype: 'uint8' });
  const meddle = {
    get versioned() {
      addressOf(Tensor.from([9]));
      liveCounts();
      return true;
    },
  };
  const y = importManaged(exportManaged(x), meddle);
  equal([y.toArray(), addressOf(y) === addressOf(x)], [[1, 2, 3], true]);
  releaseManaged(exportManaged(x), meddle);
  equal(liveCounts().exports, 0);
});

test('a stack-trace hook does not run in debug mode, and stays', () => {
  const big = Tensor.zeros([4096], 'uint8');
  const small = Tensor.from([1, 2], { dtype: 'uint8' });
  const hooked = Error as unknown as { prepareStackTrace?: unknown };
  const before = hooked.prepareStackTrace;
  setDebug(true);
  try {
    let calls = 0;
    const hook = () => {
      calls++;
      releaseManaged(exportManaged(big));
      return 'hooked';
    };
    hooked.prepareStackTrace = hook;
    const y = importManaged(exportManaged(small));
    equal([y.shape, addressOf(y) === addressOf(small), calls], [[2], true, 0]);
    equal(hooked.prepareStackTrace, hook);
  } finally {
    hooked.prepareStackTrace = before;
    setDebug(false);
  }
});

test('patched prototypes do not receive the wire, hidden buffers or storages', () => {
  const { code, output } = runChild(import.meta.url, './children/patched.js');
  equal(code, 0, output);
  ok(output.includes('nothing leaked'), output);
});

test('sizes that overflow are refused before memory is allocated', () => {
  throws('LayoutError', '2^53', () => Tensor.empty([2 ** 52], 'float64x512'));
  throws('LayoutError', '2^53', () => Tensor.empty([2 ** 51], 'float64'));
  equal(throws('OutOfMemoryError', 'Out of memory', () => Tensor.empty([2 ** 49], 'uint8')).nbytes, 2 ** 49);
});

test('a tensor of 5 GB: .data works or throws, depending on the runtime, and it is released once', async () => {
  await collect();
  const before = liveCounts().storages;
  const x = Tensor.empty([5e9], 'uint8');
  let shown = false;
  try {
    shown = x.data.length === 5e9;
  } catch (error) {
    ok(String(error).includes('bytes'), String(error));
  }
  equal(liveCounts().storages, before + 1);
  if (shown) {
    x.set(5e9 - 1, 7);
    const again = importManaged(exportManaged(x));
    equal(again.get(5e9 - 1), 7, 'offsets beyond 2^32');
    again.dispose();
  }
  x.dispose();
  ok(await collectUntil(() => liveCounts().storages <= before));
});

test('a reused handle is not released by the collector of its first owner', async () => {
  // Registered with the collector, then disposed: its handle goes to the next tensor, and its owner is collected later.
  let victims: Tensor[] = [];
  for (let round = 0; round < 10; round++) {
    (() => {
      const first = Array.from({ length: 64 }, () => Tensor.from([round], { dtype: 'uint8' }));
      victims.push(...first);
    })();
    await new Promise((resolve) => setTimeout(resolve, 0)); // the tick ends: all are registered
    for (const victim of victims) victim.dispose();
    victims = [];
    const reusers = Array.from({ length: 64 }, (_, i) => Tensor.from([i], { dtype: 'uint8' }));
    await collect();
    const addresses = new Set(reusers.map((x) => addressOf(x)));
    equal(addresses.size, 64);
    Tensor.zeros([1], 'uint8');
    for (const [i, x] of reusers.entries()) equal(x.get(0), i);
  }
});

test('pins of adopted memory are released with it', async () => {
  await collect();
  const before = liveCounts().pins;
  for (let i = 0; i < 100; i++) Tensor.adopt(new Uint8Array(1024)).dispose();
  ok(await collectUntil(() => liveCounts().pins <= before), `${liveCounts().pins} pins`);
});

test('memory that native code refuses is not pinned', async () => {
  await collect();
  const before = liveCounts().pins;
  const at = (address: bigint) => fromNDAlloc({ allocData: () => address, freeData() {} }, [4], 'uint8');
  throws('LayoutError', 'NULL', () => at(5n));
  throws('ValueError', 'an unsigned 64-bit bigint', () => at(-5n));
  throws('ValueError', 'an unsigned 64-bit bigint', () => at(2n ** 64n));
  equal(liveCounts().pins, before);
});

test('data of an empty tensor whose buffer was detached', () => {
  const x = Tensor.empty([0, 3], 'float32');
  const { data } = x;
  equal([data.length, x.data === data], [0, true]);
  structuredClone(data, { transfer: [data.buffer as ArrayBuffer] });
  equal(x.data.length, 0);
});

test('the device number of host memory is 0, whatever was requested', () => {
  for (const x of [
    Tensor.from([1, 2], { dtype: 'uint8' }).to('cpu:1'),
    Tensor.empty([2], 'uint8', { device: 'cpu:1' }),
    fromNDAlloc({ allocData: () => addressOf(kept), freeData() {} }, [2], 'uint8', 'cpu:7'),
  ]) {
    const y = importManaged(exportManaged(x));
    equal([x.device, y.device, x[DLPACK_DEVICE]()], ['cpu', 'cpu', { type: 1, id: 0 }]);
    equal(addressOf(y), addressOf(x));
  }
});

const kept = Tensor.zeros([64], 'uint8');

testWith(peerMissing, 'host memory with a device number other than 0 is host memory', () => {
  for (const device of [1, 3, 11, 13]) {
    const x = importManaged(peer.makeVersioned({ shape: [2n], device, deviceId: 5 }));
    const y = peer.readVersioned(exportManaged(x));
    equal([x.device.includes(':'), y.device, y.deviceId], [false, device, 0]);
  }
  const allocated = peer.allocate(exchangeApi(), { shape: [2n], device: 1, deviceId: 5 }) as bigint;
  equal(peer.readVersioned(allocated).deviceId, 0);
  releaseManaged(allocated);
});

testWith(
  peerMissing,
  'memory is reported once, however often it is imported again, and device memory is not',
  async () => {
    await collect();
    const before = liveCounts().reported;
    const x = Tensor.empty([1 << 20], 'uint8');
    const again = Array.from({ length: 20 }, () => importManaged(exportManaged(x)));
    equal(liveCounts().reported - before, 1 << 20);
    for (const y of again) y.dispose();
    const gpu = importManaged(peer.makeVersioned({ shape: [1n << 30n], device: 2, code: 1, bits: 8 }));
    equal(liveCounts().reported - before, 1 << 20);
    gpu.dispose();
    x.dispose();
    equal(liveCounts().reported, before);
  },
);

testWith(peerMissing, 'an import reports the same amount to the collector, whatever its size', async () => {
  await collect();
  const reports = [1, 1 << 20, 1 << 29].map((size) => {
    const before = liveCounts().reported;
    const x = importManaged(peer.makeBlock(size, false));
    const report = liveCounts().reported - before;
    x.dispose();
    equal(liveCounts().reported, before);
    return report;
  });
  equal(reports, [1024, 1024, 1024]);
});

testWith(peerMissing, 'empty tensors with wild offsets, and the most negative stride', () => {
  for (const device of [1, 8]) {
    const x = importManaged(peer.makeVersioned({ shape: [0n], device, byteOffset: 2 ** 63 }));
    equal([x.size, x.byteOffset], [0, 0]);
  }
  throws('LayoutError', '2^53', () =>
    importManaged(peer.makeVersioned({ shape: [2n, 2n], strides: [-(2n ** 53n) + 1n, -(2n ** 53n) + 1n], bits: 64 })),
  );
});

testWith(peerMissing, 'a deleter that calls into the package while an import is refused', () => {
  const victim = Tensor.from([1, 2, 3], { dtype: 'uint8' });
  const address = peer.makeCalling({ shape: [], ndim: -1 }, () => {
    importManaged(exportManaged(victim)).dispose();
    addressOf(victim);
  });
  throws('LayoutError', 'ndim', () => importManaged(address));
  equal(victim.toArray(), [1, 2, 3]);
  const released = peer.makeCalling({ shape: [2n] }, () => {
    throws('ValueError', 'address', () => releaseManaged(0n));
  });
  releaseManaged(released);
});

testWith(peerMissing, 'an import that resembles the previous import gets its own layout', () => {
  const sound: Recipe = { shape: [2n, 3n], strides: [3n, 1n] };
  const described = (recipe: Recipe, versioned: boolean) => {
    const x = importManaged(versioned ? peer.makeVersioned(recipe) : peer.makeLegacy(recipe), { versioned });
    const { shape, strides, dtype, device, isReadOnly } = x;
    x.dispose();
    return { shape, strides, dtype, device, readonly: isReadOnly };
  };
  const usual = { shape: [2, 3], strides: [3, 1], dtype: 'float32', device: 'cpu', readonly: false };
  // Each differs from the valid tensor in one field. Valid and invalid ones come right after it and right before it.
  const others: [Recipe, object | string][] = [
    [
      { ...sound, shape: [3n, 2n] },
      { ...usual, shape: [3, 2] },
    ],
    [
      { ...sound, strides: [1n, 2n] },
      { ...usual, strides: [1, 2] },
    ],
    [{ shape: [2n, 3n] }, usual],
    [{ shape: [6n] }, { ...usual, shape: [6], strides: [1] }],
    [{ shape: [] }, { ...usual, shape: [], strides: [] }],
    [
      { ...sound, code: 0 },
      { ...usual, dtype: 'int32' },
    ],
    [
      { ...sound, bits: 16 },
      { ...usual, dtype: 'float16' },
    ],
    [
      { ...sound, lanes: 2 },
      { ...usual, dtype: 'float32x2' },
    ],
    [
      { ...sound, device: 2 },
      { ...usual, device: 'cuda:0' },
    ],
    [
      { ...sound, device: 2, deviceId: 1 },
      { ...usual, device: 'cuda:1' },
    ],
    [
      { shape: Array<bigint>(9).fill(1n) },
      { ...usual, shape: Array<number>(9).fill(1), strides: Array<number>(9).fill(1) },
    ],
    [{ ...sound, nullData: true }, '[2, 3]'],
    [{ ...sound, nullShape: true }, 'NULL'],
    [{ ...sound, misalign: 2 }, 'aligned'],
    [{ ...sound, byteOffset: 2 ** 60 }, '[2, 3]'],
    [{ ...sound, ndim: 65 }, 'ndim 65'],
    [{ ...sound, strides: [2n ** 62n, 1n] }, '2^53'],
    [{ ...sound, code: 200 }, '200'],
    [{ ...sound, device: 99 }, '99'],
  ];
  const before = liveCounts();
  const deletions = countDeletions(() => {
    for (const versioned of [true, false]) {
      for (const [recipe, expected] of others) {
        // Twice, because neither the refused tensor nor the one it replaced may count as known.
        for (let i = 0; i < 2; i++) {
          equal(described(sound, versioned), usual);
          let found: object | string;
          try {
            found = described(recipe, versioned);
          } catch (error) {
            found = isDLPackError(error) ? error.message : String(error);
          }
          if (typeof expected === 'string') ok(typeof found === 'string' && found.includes(expected), String(found));
          else equal(found, expected);
          equal(described(sound, versioned), usual);
        }
      }
    }
  });
  equal(deletions, others.length * 2 * 2 * 3);
  equal(liveCounts(), before);
  // Read-only is a flag: only versioned tensors have it.
  equal(described({ ...sound, flags: 1 }, true), { ...usual, readonly: true });
  equal(described(sound, true), usual);
});

test('a thread can stop being the home of a storage and become it again', () => {
  const before = liveCounts();
  const x = Tensor.zeros([4], 'uint8');
  // More than one batch, and deleted after the tensor that they came from was disposed.
  const exports = Array.from({ length: 200 }, () => exportManaged(x));
  const homes = exports.splice(0, 100).map((address) => expectTensor(importManaged(address), { dtype: 'uint8' }));
  x.dispose();
  for (const address of exports.splice(0, 50)) releaseManaged(address);
  for (const home of homes) home.dispose();
  // JavaScript holds no reference now; only the structs do.
  equal(liveCounts().storages, before.storages + 1);
  for (const address of exports.splice(0, 25)) releaseManaged(address);
  const again = expectTensor(importManaged(exports.pop() as bigint), { dtype: 'uint8' });
  again.set(0, 9);
  exports.push(exportManaged(again));
  again.dispose();
  const last = exports.pop() as bigint;
  for (const address of exports) releaseManaged(address);
  equal(expectTensor(importManaged(last), { dtype: 'uint8' }).get(0), 9);
});

test('a buffer with a device that is not the host is refused', () => {
  const offer = (type: number) => ({
    [Symbol.for('dlpack')]: () => ({
      version: [1, 3],
      flags: 0,
      data: new ArrayBuffer(8),
      byteOffset: 0,
      shape: [8],
      strides: [1],
      dtype: { code: 1, bits: 8, lanes: 1 },
      device: { type, id: 0 },
    }),
  });
  equal(fromDLPack(offer(3)).device, 'cuda_host');
  throws('UnsupportedDeviceError', "'cuda:0'", () => fromDLPack(offer(2)));
});
