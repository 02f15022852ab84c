import { DLPACK, type DLPackProducer, type DLPackSource, fromDLPack, type ManagedTensor, Tensor } from 'dlpack';
import { CudaEvent, Stream, synchronize } from 'dlpack/cuda';
import { liveCounts } from 'dlpack/debug';
import { addressOf, exportManaged, importManaged, releaseManaged } from 'dlpack/native';
import { equal, ok, throws } from '../assert.js';
import { collectUntil } from '../harness.js';
import { code, fake, fakeDriver, made } from './fake.js';
import { cudaTest, throwsCuda } from './machine.js';

const onDevice = { device: 'cuda:0' } as const;
const ones = () => Tensor.from([1, 1, 1, 1], { dtype: 'float32' });

/** The values of a tensor on a device. */
function read(x: Tensor): unknown {
  const copy = x.to('cpu');
  const values = copy.toArray();
  copy.dispose();
  return values;
}

/** The driver's memory right now, without running queued work. */
const peek = (x: Tensor) => [...new Float32Array(fake.peek(addressOf(x), x.nbytes).buffer)];

cudaTest('the default stream, a new stream, and the current stream', () => {
  equal([Stream.default().handle, Stream.perThread().handle], [1n, 2n]);
  equal(Stream.current().handle, 1n);
  const stream = new Stream();
  equal(stream.device, 'cuda:0');
  stream.use(() => {
    equal(Stream.current().handle, stream.handle);
    equal(Stream.current('cuda:1').handle, 1n);
    throws('TypeError', 'a function', () => stream.use(5 as never));
  });
  equal(Stream.current().handle, 1n);
  try {
    stream.use(() => {
      throw new RangeError('thrown inside');
    });
  } catch (error) {
    equal((error as Error).message, 'thrown inside');
  }
  equal(Stream.current().handle, 1n);
  stream.dispose();
  stream.dispose();
  throws('DisposedError', 'disposed', () => stream.handle);
  throws('ValueError', 'cuda:0', () => new Stream({ device: 'cpu' }));
  throws('ValueError', 'small integer', () => new Stream({ priority: 0.5 }));
});

cudaTest('a stream that is disposed while it is current is released afterwards', () => {
  const { streams } = fake.live();
  const stream = new Stream();
  const x = Tensor.zeros([4], 'float32', onDevice);
  stream.use(() => {
    stream.use(() => stream.dispose());
    x.fill(3);
    equal(fake.live().streams, streams + 1);
  });
  throws('DisposedError', 'disposed', () => stream.use(() => 0));
  equal(read(x), [3, 3, 3, 3]);
  x.dispose();
  equal(fake.live().streams, streams);
});

cudaTest('work on a stream runs when the program waits for it', async () => {
  const stream = new Stream();
  const x = Tensor.zeros([4], 'float32', onDevice);
  synchronize();
  stream.use(() => x.fill(5));
  equal([peek(x), stream.isDone], [[0, 0, 0, 0], false]);
  stream.synchronize();
  equal([peek(x), stream.isDone], [[5, 5, 5, 5], true]);
  stream.use(() => x.fill(6));
  fake.delay(stream.handle);
  stream.use(() => x.fill(7));
  let isDone = false;
  const waiting = stream.done().then(() => {
    isDone = true;
  });
  await new Promise((resolve) => setTimeout(resolve, 30));
  equal(isDone, false);
  fake.release(stream.handle);
  fake.runAll();
  await waiting;
  equal(peek(x), [7, 7, 7, 7]);
  x.dispose();
  stream.dispose();
});

cudaTest('copies on several streams are ordered by the memory they share', () => {
  const [a, b] = [new Stream(), new Stream()];
  const x = Tensor.zeros([4], 'float32', onDevice);
  for (let i = 0; i < 4; i++) {
    a.use(() => x.fill(i));
    const copy = b.use(() => x.copy());
    a.use(() => x.fill(-1));
    equal(read(copy), [i, i, i, i]);
    copy.dispose();
  }
  for (const owned of [a, b, x]) owned.dispose();
});

cudaTest('memory is freed only after the streams that use it have finished', async () => {
  const stream = new Stream();
  const x = ones().to('cuda:0');
  const pinned = Tensor.empty([1 << 16], 'float32', { device: 'cuda_host' });
  const { pinned: held } = fake.live();
  fake.delay(stream.handle);
  const big = Tensor.zeros([1 << 19], 'float32', onDevice);
  const copied = stream.use(() => Tensor.empty([1 << 16], 'float32', onDevice).toAsync('cuda_host'));
  stream.use(() => {
    x.fill(2);
    big.fill(3);
    void pinned.toAsync('cuda:0').then((y) => y.dispose());
  });
  const frees = fake.calls('cuMemFreeAsync');
  for (const owned of [x, big, pinned]) owned.dispose();
  ok(fake.calls('cuMemFreeAsync') > frees, 'the large block is freed behind the work');
  equal(fake.live().pinned >= held, true);
  fake.configure({ queriesRun: true });
  fake.release(stream.handle);
  (await copied).dispose();
  stream.dispose();
  ok(await collectUntil(() => fake.live().pinned === held - 1));
});

cudaTest('a stream that is disposed while memory needs it stays alive', () => {
  const x = Tensor.zeros([4], 'float32', onDevice);
  const { streams } = fake.live();
  (() => {
    const stream = new Stream();
    stream.use(() => x.fill(4));
    stream.dispose();
  })();
  equal(fake.live().streams, streams + 1);
  equal(read(x), [4, 4, 4, 4]);
  x.dispose();
  equal(fake.live().streams, streams);
});

cudaTest('events: recorded, waited for, measured', async () => {
  const [a, b] = [new Stream(), new Stream()];
  const event = new CudaEvent();
  equal(event.isDone, true);
  await event.done();
  const x = Tensor.zeros([4], 'float32', onDevice);
  fake.delay(a.handle);
  a.use(() => x.fill(1));
  equal(event.record(a).isDone, false);
  b.wait(event);
  const waiting = event.done();
  event.dispose();
  fake.release(a.handle);
  fake.runAll();
  await waiting;
  b.synchronize();
  const [start, end] = [new CudaEvent({ timing: true }).record(a), a.record({ timing: true })];
  end.synchronize();
  start.synchronize();
  ok(end.elapsed(start) >= 0);
  a.wait(b);
  throws('TypeError', 'a Stream of dlpack/cuda', () => a.wait(5 as never));
  throws('TypeError', 'a CudaEvent', () => end.elapsed(5 as never));
  throws('ValueError', "'cuda:0'", () => end.record(new Stream({ device: 'cuda:1' })));
  throws('DisposedError', 'disposed', () => event.record());
  throwsCuda('CUDA_ERROR_INVALID_HANDLE', () => end.elapsed(new CudaEvent().record()));
  for (const owned of [a, b, x, start, end]) owned.dispose();
});

cudaTest('streams of other libraries by their handle', () => {
  const handle = made(fakeDriver, 'cuStreamCreateWithPriority', 1, 0);
  const stream = Stream.from(handle);
  const x = Tensor.zeros([4], 'float32', onDevice);
  stream.use(() => x.fill(9));
  equal(read(x), [9, 9, 9, 9]);
  x.dispose();
  stream.dispose();
  fakeDriver.must('cuStreamDestroy_v2', handle);
  equal(Stream.from(0n).handle, 1n);
  throws('TypeError', 'bigint', () => Stream.from(5 as never));
});

cudaTest("the consumer's stream: numbers of the array API, and the producer waits", () => {
  const own = new Stream();
  const theirs = made(fakeDriver, 'cuStreamCreateWithPriority', 1, 0);
  const x = Tensor.zeros([4], 'float32', onDevice);
  synchronize();
  own.use(() => x.fill(3));
  const take = (stream: bigint | null) => {
    const managed = (x as unknown as DLPackProducer)[DLPACK]({ stream, native: false, copy: null });
    (managed as ManagedTensor).deleter?.();
  };
  throws('BufferError', 'ambiguous', () => (x as unknown as DLPackProducer)[DLPACK]({ stream: 0n, native: true }));
  const readOn = (stream: bigint) => {
    const target = made(fakeDriver, 'cuMemHostAlloc', 16, 0);
    fakeDriver.must('cuMemcpyAsync', target, addressOf(x), 16, stream);
    fakeDriver.must('cuStreamSynchronize', stream);
    const values = [...new Float32Array(fake.peek(target, 16).buffer)];
    fakeDriver.must('cuMemFreeHost', target);
    return values;
  };
  const external = (x as unknown as DLPackProducer)[DLPACK]({ stream: theirs, native: true });
  equal(readOn(theirs), [3, 3, 3, 3]);
  fromDLPack({ [DLPACK]: () => external } as DLPackSource).dispose();
  own.use(() => x.fill(4));
  fromDLPack(x, { stream: 1n }).dispose();
  equal(readOn(1n), [4, 4, 4, 4]);
  throws('BufferError', 'cuda:0', () => take(1n));
  own.dispose();
  x.dispose();
  fakeDriver.must('cuStreamDestroy_v2', theirs);
});

cudaTest('imported device memory is released after our work on it has finished', async () => {
  const producer = Tensor.zeros([4], 'float32', onDevice);
  const managed = exportManaged(producer);
  const stream = new Stream();
  const x = importManaged(managed);
  fake.delay(stream.handle);
  stream.use(() => x.fill(8));
  const { exports } = liveCounts();
  x.dispose();
  producer.dispose();
  fake.release(stream.handle);
  fake.runAll();
  stream.dispose();
  ok(await collectUntil(() => liveCounts().exports <= exports));
});

cudaTest('while a graph is captured: allocation, copies and release leave the capture whole', () => {
  const stream = new Stream();
  const x = Tensor.zeros([4], 'float32', onDevice);
  synchronize();
  fake.beginCapture(stream.handle);
  equal(stream.isCapturing, true);
  stream.use(() => {
    const y = Tensor.empty([4], 'float32', onDevice);
    y.copyFrom(x);
    const address = exportManaged(y);
    releaseManaged(address);
    y.dispose();
  });
  x.dispose();
  const ended = fake.endCapture(stream.handle);
  equal(ended.code, code.success);
  ok(ended.operations.length > 0, 'the copy was captured');
  stream.dispose();
});

cudaTest('a device that failed: waiting rejects', async () => {
  fake.configure({ queriesRun: true });
  const stream = new Stream();
  fake.failNext('cuStreamQuery', code.launchTimeout);
  let caught = '';
  await stream.done().catch((error: { cudaName: string }) => {
    caught = error.cudaName;
  });
  equal(caught, 'CUDA_ERROR_LAUNCH_TIMEOUT');
  stream.dispose();
});
