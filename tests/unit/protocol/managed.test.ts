/** Sections 3 and 4 of docs/spec.md: the managed tensors that a consumer takes and refuses. */

import { DLPACK, fromDLPack, type ManagedTensor } from 'dlpack';
import { equal, ok, throws } from '../../assert.js';
import { test } from '../../harness.js';
import { type Change, producer } from './producer.js';

/** The managed tensor is refused with this error, and its deleter was called once. */
function refused(change: Change, tag: Parameters<typeof throws>[0], text: string): void {
  const { object, record } = producer(change);
  throws(tag, text, () => fromDLPack(object));
  equal(record.deleted, 1, `deleter of ${Object.keys(change)}`);
}

test('3.1: an object that has only a deleter is a managed tensor, which is released', () => {
  let deleted = 0;
  const deleter = () => {
    deleted++;
  };
  for (const answer of [{ deleter }, { deleter, version: [1, 3] }, { deleter, data: new ArrayBuffer(4) }]) {
    const before = deleted;
    throws('TypeError', '', () => fromDLPack({ [DLPACK]: () => answer }));
    equal(deleted, before + 1);
    throws('ConsumedError', '', () => fromDLPack({ [DLPACK]: () => answer }));
  }
  refused({ version: undefined }, 'TypeError', 'version');
  refused({ data: undefined }, 'TypeError', 'data');
});

test('3.1: each property is read once, the deleter first and then the version', () => {
  const reads: string[] = [];
  const managed = producer().object[DLPACK]();
  const watched = new Proxy(managed, {
    get(target, name) {
      reads.push(String(name));
      return Reflect.get(target, name);
    },
  });
  fromDLPack({ [DLPACK]: () => watched }).dispose();
  equal(reads.slice(0, 2), ['deleter', 'version']);
  equal(new Set(reads).size, reads.length);
});

test('3.2: of another major version only the deleter and the version are read', () => {
  const reads: string[] = [];
  const { object, record } = producer({ version: [2, 0] });
  const watched = new Proxy(object[DLPACK](), {
    get(target, name) {
      reads.push(String(name));
      return Reflect.get(target, name);
    },
  });
  throws('VersionError', '2.0', () => fromDLPack({ [DLPACK]: () => watched }));
  equal([reads, record.deleted], [['deleter', 'version'], 1]);
  // biome-ignore lint/suspicious/noSparseArray: a hole is no minor version
  const holes = [1, ,];
  for (const version of [[1], [1, 3, 0], [1, -1], holes, ['1', 3], [1n, 3n], [Number.NaN, 0], '1.3', null]) {
    refused({ version }, 'TypeError', 'version');
  }
  fromDLPack(producer({ version: [1, 99] }).object).dispose();
});

test('3.3: flags are a safe integer or a 64-bit bigint', () => {
  for (const flags of [undefined, null, Number.NaN, 0.5, -1, '1', true, 2 ** 53, -1n, 2n ** 64n]) {
    refused({ flags }, 'TypeError', 'flags');
  }
  for (const flags of [0, 0n, 8, 2 ** 40, 2n ** 63n, 2n ** 64n - 8n]) {
    fromDLPack(producer({ flags }).object).dispose();
  }
  equal(fromDLPack(producer({ flags: 2 ** 40 + 1 }).object).isReadOnly, true);
});

test('3.6 and 3.7: shape and strides are Arrays', () => {
  for (const shape of [new Int32Array([2, 3]), { length: 2, 0: 2, 1: 3 }, '23'])
    refused({ shape }, 'TypeError', 'shape');
  refused({ strides: new Int32Array([3, 1]) }, 'TypeError', 'strides');
});

test('3.6: lengths that are not zero have a safe product, with or without elements', () => {
  equal(fromDLPack(producer({ shape: [0, 2 ** 52], strides: [1, 1] }).object).size, 0);
  refused({ shape: [2 ** 52, 2 ** 52, 0], strides: [1, 1, 1] }, 'LayoutError', '2^53');
  refused({ shape: [2 ** 30, 2 ** 30], strides: [0, 0] }, 'LayoutError', '2^53');
});

test('3.12: without elements alignment does not count, but the offset lies in the buffer', () => {
  const empty = { shape: [0, 3], byteOffset: 3 };
  const x = fromDLPack(producer(empty).object, { copy: false });
  equal([x.shape, x.data.length, x.isCopied], [[0, 3], 0, false]);
  fromDLPack(producer({ ...empty, data: new ArrayBuffer(3) }).object).dispose();
  refused({ ...empty, byteOffset: 25 }, 'LayoutError', '25');
  refused({ ...empty, data: null }, 'TypeError', 'data');
});

test('3.9: forms of data and devices that do not belong together', () => {
  refused({ data: 4096n, device: { type: 15, id: 0 } }, 'UnsupportedDeviceError', 'GPUBuffer');
  refused({ device: { type: 15, id: 0 } }, 'UnsupportedDeviceError', 'webgpu');
  refused({ device: { type: 1, id: -1 } }, 'UnsupportedDeviceError', '-1');
});

test('1.3: a promise is refused', () => {
  throws('TypeError', 'ManagedTensor', () =>
    fromDLPack({ [DLPACK]: () => Promise.resolve(producer().object[DLPACK]()) }),
  );
});

test('2.5: the consumer checks the device and the copy that it asked for', () => {
  const { object, record } = producer({ flags: 2 });
  throws('BufferError', 'copy: false', () => fromDLPack(object, { copy: false }));
  equal(record.deleted, 1);
  const other = producer({ device: { type: 1, id: 3 } });
  equal(fromDLPack(other.object, { device: 'cpu' }).device, 'cpu', 'the id of host memory does not count');
});

test('4.1 and 4.2: shared, resizable and growing buffers', () => {
  const shared = new SharedArrayBuffer(24);
  const x = fromDLPack(producer({ data: shared }).object);
  new Float32Array(shared)[0] = 5;
  equal(x.get(0, 0), 5);
  const Resizable = ArrayBuffer as unknown as new (
    length: number,
    options: { maxByteLength: number },
  ) => ArrayBuffer & { resize(length: number): void };
  const resizable = new Resizable(24, { maxByteLength: 64 });
  const y = fromDLPack(producer({ data: resizable }).object);
  resizable.resize(48);
  new Float32Array(resizable)[5] = 6;
  equal([y.get(1, 2), y.data.length], [6, 6]);
  resizable.resize(8);
  throws('DisposedError', 'resized', () => y.get(0, 0));
});

test('4.2.2: WebAssembly memory that grew under a tensor is noticed, and shared memory stays', () => {
  const memory = new WebAssembly.Memory({ initial: 1, maximum: 2 });
  const { object, record } = producer({ data: memory.buffer });
  const x = fromDLPack(object);
  memory.grow(1);
  throws('DisposedError', 'detached', () => x.get(0, 0));
  x.dispose();
  equal(record.deleted, 1);
  const threads = new WebAssembly.Memory({ initial: 1, maximum: 2, shared: true });
  const y = fromDLPack(producer({ data: threads.buffer }).object);
  threads.grow(1);
  new Float32Array(threads.buffer)[0] = 9;
  equal(y.get(0, 0), 9);
});

test('2.4.2: pinned and managed memory is shared with a consumer that asks for host memory', () => {
  for (const type of [3, 11, 13]) {
    const { object, record } = producer({ device: { type, id: 0 } });
    const x = fromDLPack(object);
    for (const copy of [null, false]) {
      const answer = x[DLPACK]({ device: { type: 1, id: 0 }, copy }) as ManagedTensor;
      equal([answer.flags, answer.device], [0, { type: 1, id: 0 }]);
      ok(answer.data === record.array.buffer);
      answer.deleter?.();
      const y = fromDLPack(x, { device: 'cpu', copy });
      record.array[0] = type;
      equal([y.device, y.get(0, 0)], ['cpu', type]);
      y.dispose();
    }
    const copied = fromDLPack(x, { device: 'cpu', copy: true });
    equal([copied.device, copied.isCopied], ['cpu', true]);
    for (const owned of [copied, x]) owned.dispose();
    equal(record.deleted, 1);
  }
});

test('4.1 and 4.2: a shared buffer that grows keeps its elements, and the tensor its length', () => {
  const Growable = SharedArrayBuffer as new (length: number, options: { maxByteLength: number }) => SharedArrayBuffer;
  const data = new Growable(8, { maxByteLength: 64 });
  const x = fromDLPack(producer({ data, shape: [2], strides: [1] }).object);
  new Float32Array(data).set([1, 2]);
  (data as unknown as { grow(length: number): void }).grow(64);
  new Float32Array(data)[1] = 3;
  equal([x.toArray(), x.data.length], [[1, 3], 2]);
});
