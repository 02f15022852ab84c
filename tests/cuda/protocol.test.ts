/** Requests of docs/spec.md for memory on CUDA devices, and for memory that the host and a device share. */

import { DLPACK, type DLPackProducer, type DLPackRequest, type DLPackSource, fromDLPack, Tensor } from 'dlpack';
import { Stream, synchronize } from 'dlpack/cuda';
import { addressOf } from 'dlpack/native';
import { equal, ok, throws } from '../assert.js';
import { cudaTest } from './machine.js';

const ask = (x: Tensor, request: DLPackRequest) => (x as unknown as DLPackProducer)[DLPACK](request);

cudaTest('2.1: a host tensor is copied to the device that a consumer asks for', () => {
  const x = Tensor.from([1, 2, 3], { dtype: 'float32' });
  for (const copy of [null, true]) {
    const external = ask(x, { device: { type: 2, id: 1 }, copy, native: true });
    const there = fromDLPack({ [DLPACK]: () => external } as DLPackSource);
    equal([there.device, there.isCopied, there.to('cpu').toArray()], ['cuda:1', true, [1, 2, 3]]);
    there.dispose();
  }
  const taken = fromDLPack(x, { device: 'cuda:0' });
  equal([taken.device, taken.isCopied], ['cuda:0', true]);
  throws('BufferError', 'copy: false', () => fromDLPack(x, { device: 'cuda:0', copy: false }));
  throws('BufferError', 'native: true', () => ask(x, { device: { type: 2, id: 0 } }));
  const far = throws('BufferError', 'rocm', () => ask(x, { device: { type: 10, id: 0 }, native: true }));
  ok(far.cause !== undefined);
  for (const owned of [taken, x]) owned.dispose();
});

cudaTest('2.1: a device tensor is copied to the host that a consumer asks for', () => {
  const x = Tensor.from([1, 2, 3], { dtype: 'float32' }).to('cuda:0');
  const host = fromDLPack(x, { device: 'cpu' });
  equal([host.device, host.isCopied, host.toArray()], ['cpu', true, [1, 2, 3]]);
  throws('BufferError', 'no stream', () => ask(x, { device: { type: 1, id: 0 }, stream: 1n }));
  throws('BufferError', 'native: true', () => ask(x, {}));
  for (const owned of [host, x]) owned.dispose();
});

cudaTest('2.2: numbers of streams that CUDA does not have', () => {
  for (const device of ['cuda:0', 'cuda_managed'] as const) {
    const x = Tensor.zeros([2], 'int8', { device });
    throws('BufferError', 'ambiguous', () => ask(x, { stream: 0n, native: true }));
    for (const stream of [-2n, 2n ** 64n]) throws('BufferError', device, () => ask(x, { stream, native: true }));
    throws('TypeError', 'stream', () => ask(x, { stream: 1 as never, native: true }));
    x.dispose();
  }
});

for (const device of ['cuda_managed', 'cuda_host'] as const) {
  cudaTest(`2.4.2: memory on ${device} is shared as host memory, after the work on it`, async () => {
    const x = Tensor.zeros([4], 'float32', { device });
    synchronize();
    const stream = new Stream();
    const copying = stream.use(() => x.toAsync('cuda:0'));
    const host = fromDLPack(x, { device: 'cpu', copy: false });
    equal([host.device, host.isCopied, addressOf(host)], ['cpu', false, addressOf(x)]);
    host.data.fill(9);
    equal(x.get(0), 9);
    const there = await copying;
    equal(there.to('cpu').toArray(), [0, 0, 0, 0], 'the queued work came first');
    for (const owned of [there, host, x, stream]) owned.dispose();
  });
}

cudaTest("1.6: a producer with Python's names says where it is, and gets the stream of that device", () => {
  const x = Tensor.zeros([4], 'uint32', { device: 'cuda:0' });
  synchronize();
  const stream = new Stream();
  for (const device of [[2, 0], { type: 2, id: 0 }]) {
    let asked: DLPackRequest | undefined;
    const producer = {
      __dlpack__(request: DLPackRequest) {
        asked = request;
        return ask(x, request);
      },
      __dlpack_device__: () => device,
    };
    stream.use(() => fromDLPack(producer)).dispose();
    equal(asked?.stream, stream.handle);
  }
  for (const owned of [x, stream]) owned.dispose();
});
