/** `dlpack/cuda` and TVM-FFI have one current stream: a stream that either sets is used by both. */

import { Tensor } from 'dlpack';
import { Stream } from 'dlpack/cuda';
import { currentStream, setStreamProvider, withStream } from 'dlpack/tvm-ffi';
import { equal, throws } from '../assert.js';
import { kernelsMissing, probe } from '../interop/tvm-ffi/peer.js';
import { cudaTest as machineTest } from './machine.js';

function cudaTest(name: string, body: () => void): void {
  if (kernelsMissing === false) machineTest(name, body);
}

const streamOf = (x: Tensor): bigint => BigInt(probe('stream_of')(x) as number);
const asSeen = (x: Tensor): bigint[] => [streamOf(x), currentStream('cuda:0'), Stream.current().handle];

cudaTest('Stream.use and withStream set the same stream, and the innermost counts', () => {
  const x = Tensor.zeros([4], 'float32', { device: 'cuda:0' });
  const [a, b] = [new Stream(), new Stream()];
  equal(asSeen(x), [0n, 0n, 1n]);
  a.use(() => {
    equal(asSeen(x), [a.handle, a.handle, a.handle]);
    withStream('cuda:0', b, () => {
      equal(asSeen(x), [b.handle, b.handle, b.handle]);
      equal(Stream.current(), b);
      a.use(() => equal(asSeen(x), [a.handle, a.handle, a.handle]));
      withStream('cuda:0', null, () => equal(asSeen(x), [b.handle, b.handle, b.handle]));
      withStream('cuda:0', 0n, () => equal(asSeen(x), [0n, 0n, 1n]));
      equal(asSeen(x), [b.handle, b.handle, b.handle]);
    });
    withStream('cuda:0', b.handle, () => equal(asSeen(x), [b.handle, b.handle, b.handle]));
    equal(asSeen(x), [a.handle, a.handle, a.handle]);
  });
  equal(asSeen(x), [0n, 0n, 1n]);
  for (const owned of [a, b, x]) owned.dispose();
});

cudaTest('an exception inside restores the streams', () => {
  const stream = new Stream();
  throws('ValueError', 'shape', () => withStream('cuda:0', stream, () => Tensor.zeros([-1], 'int8')));
  equal([currentStream('cuda:0'), Stream.current().handle], [0n, 1n]);
  const elsewhere = new Stream({ device: 'cuda:1' });
  throws('ValueError', "a stream of 'cuda:0'", () => withStream('cuda:0', elsewhere, () => 1));
  throws('TypeError', 'a Stream', () => withStream('cuda:0', {} as never, () => 1));
  for (const owned of [stream, elsewhere]) owned.dispose();
});

cudaTest('a provider may name a Stream', () => {
  const x = Tensor.zeros([4], 'float32', { device: 'cuda:0' });
  const stream = new Stream();
  setStreamProvider(() => stream);
  try {
    equal(streamOf(x), stream.handle);
    setStreamProvider(() => ({}) as never);
    throws('TypeError', 'a Stream', () => streamOf(x));
  } finally {
    setStreamProvider(null);
  }
  for (const owned of [stream, x]) owned.dispose();
});
