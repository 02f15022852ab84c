/** Features that only a page has: a second copy of the package from another address, workers, WebAssembly memory, moved buffers. */

import { DLPACK, DLPACK_DEVICE, type DType, dtypes, fromDLPack, type ManagedTensor, Tensor } from 'dlpack';
import * as abi from 'dlpack/abi';
import { extents, hostMdspan, layoutLeft, toDLPackTensor, toHostMdspan } from 'dlpack/mdspan';
import * as copy from '../../../src/index.js';
import { equal, notEqual, ok, throws } from '../../assert.js';
import { test } from '../../harness.js';

test('this is a browser, and the package is the pure core', () => {
  ok('document' in globalThis && !('process' in globalThis));
  const t = Tensor.from([1, 2], { dtype: 'float32' });
  equal(t.isDataCopied, false);
  equal(t.device, 'cpu');
});

test('two copies of the package exchange without a copy, both ways', () => {
  notEqual(copy.Tensor, Tensor);
  const ours = Tensor.from([[1, 2, 3], [4, 5, 6]], { dtype: 'float32' }); // biome-ignore format: a table
  const theirs = copy.fromDLPack(ours.transpose());
  ok(theirs instanceof copy.Tensor && !(theirs instanceof Tensor));
  equal(theirs.shape, [3, 2]);
  theirs.set(2, 1, 60);
  equal(ours.get(1, 2), 60);
  const back = fromDLPack(theirs);
  back.set(0, 0, 10);
  equal(ours.get(0, 0), 10);
  for (const tensor of [back, theirs, ours]) tensor.dispose();
  throws('DisposedError', 'released', () => ours.data);
});

test('a producer of neither copy uses only the protocol, and its deleter is called once', () => {
  let deleted = 0;
  const buffer = new Int16Array([1, 2, 3, 4]).buffer;
  const producer = {
    [DLPACK]: (): ManagedTensor => ({
      version: [1, 3],
      flags: 0,
      data: buffer,
      byteOffset: 2,
      shape: [3],
      strides: [1],
      dtype: { code: 0, bits: 16, lanes: 1 },
      device: { type: 1, id: 0 },
      deleter: () => deleted++,
    }),
    [DLPACK_DEVICE]: () => ({ type: 1, id: 0 }),
  };
  const first = fromDLPack(producer);
  const second = fromDLPack(first);
  equal(first.toArray(), [2, 3, 4]);
  first.dispose();
  equal(deleted, 0);
  second.dispose();
  second.dispose();
  equal(deleted, 1);
});

test('values of every dtype go from one copy of the package to the other', () => {
  let count = 0;
  for (const dtype of dtypes as readonly DType[]) {
    const source = Tensor.zeros([3], dtype);
    const taken = copy.fromDLPack(source);
    equal(taken.dtype, dtype);
    equal(taken.toArray(), source.toArray(), dtype);
    ok(taken.data.buffer === source.data.buffer, dtype);
    count++;
  }
  ok(count > 20, `only ${count} dtypes`);
});

test('structs in WebAssembly memory, which grows under them', () => {
  const memory = new WebAssembly.Memory({ initial: 1, maximum: 4 });
  new Float32Array(memory.buffer, 1024, 6).set([1, 2, 3, 4, 5, 6]);
  new BigInt64Array(memory.buffer, 512, 2).set([2n, 3n]);
  const place = () => ({ buffer: memory.buffer, byteOffset: 64, model: abi.wasm32 });
  abi.encodeTensor(
    {
      data: 1024n,
      device: { device_type: 1, device_id: 0 },
      ndim: 2,
      dtype: { code: 2, bits: 32, lanes: 1 },
      shape: 512n,
      strides: 0n,
      byte_offset: 0n,
    },
    place(),
  );
  equal(abi.layoutOf(abi.DLTensor, abi.wasm32).size, 40);
  equal(abi.viewTensor(place()).toArray(), [
    [1, 2, 3],
    [4, 5, 6],
  ]);
  const t = Tensor.wrap(new Float32Array(memory.buffer, 1024, 6), { shape: [2, 3] });
  equal(t.get(1, 2), 6);
  memory.grow(1); // detaches the buffer
  throws('DisposedError', 'detached', () => t.get(0, 0));
  equal(Tensor.wrap(new Float32Array(memory.buffer, 1024, 6), { shape: [2, 3] }).get(1, 2), 6);
});

test('buffers move to a worker and back, and the tensor left behind throws', async () => {
  const source = `onmessage = ({ data }) => { const a = new Float32Array(data); a[0] += 41; postMessage(data, [data]); };`;
  const worker = new Worker(URL.createObjectURL(new Blob([source], { type: 'text/javascript' })));
  const t = Tensor.wrap(new Float32Array([1, 2, 3]));
  const { buffer } = t.data;
  const answer = new Promise<MessageEvent<ArrayBuffer>>((resolve) => {
    worker.onmessage = resolve;
  });
  worker.postMessage(buffer, [buffer]);
  throws('DisposedError', 'detached', () => t.get(0));
  const { data } = await answer;
  worker.terminate();
  equal(Tensor.wrap(new Float32Array(data)).toArray(), [42, 2, 3]);
});

test('shared memory stays where it is', () => {
  ok(crossOriginIsolated);
  const shared = new Int32Array(new SharedArrayBuffer(16));
  const t = fromDLPack(Tensor.wrap(shared, { shape: [2, 2] }));
  shared[3] = 7;
  equal(t.get(1, 1), 7);
});

test('adopt takes the buffer over', () => {
  const array = new Float64Array([1, 2, 3, 4]);
  const t = Tensor.adopt(array, { shape: [2, 2] });
  equal(array.length, 0);
  equal(t.toArray(), [
    [1, 2],
    [3, 4],
  ]);
});

test('spans over page memory become tensors and back', () => {
  const data = new Float32Array([1, 2, 3, 4, 5, 6]);
  const span = hostMdspan(data, layoutLeft(extents(2, 3)));
  const t = fromDLPack(span);
  t.set(1, 2, 60);
  equal(data[5], 60);
  const back = toHostMdspan(toDLPackTensor(span).get(), { dtype: 'float32', rank: 2 });
  back.set(0, 0, 10);
  equal(data[0], 10);
});

test('text of a tensor', () => {
  const text = String(Tensor.from([[1, 2], [3, 4]], { dtype: 'int32' })); // biome-ignore format: a table
  ok(text.includes('int32') && text.includes('3'), text);
});

test('native functions throw in a browser', () => {
  throws('UnsupportedDeviceError', 'cuda', () => Tensor.empty([1], 'float32', { device: 'cuda:0' }));
});
