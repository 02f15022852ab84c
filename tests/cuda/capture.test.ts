import { Tensor } from 'dlpack';
import { type CudaError, Stream, synchronize } from 'dlpack/cuda';
import { emptyCache } from 'dlpack/debug';
import { equal, ok } from '../assert.js';
import { collectUntil } from '../harness.js';
import { code, fake } from './fake.js';
import { cudaTest, throwsCuda } from './machine.js';

const onDevice = { device: 'cuda:0' } as const;

/** A stream with unfinished work on a tensor, and the tensor. */
function busy(length: number): { stream: Stream; x: Tensor } {
  const stream = new Stream();
  const x = stream.use(() => Tensor.zeros([length], 'float32', onDevice));
  stream.synchronize();
  fake.delay(stream.handle);
  stream.use(() => x.fill(3));
  return { stream, x };
}

for (const [name, length] of [
  ['small', 4],
  ['large', 1 << 22],
] as const) {
  cudaTest(
    `${name} memory that is released during a capture is freed after the earlier work of its stream`,
    async () => {
      const { pool } = fake.live();
      const { stream, x } = busy(length);
      const { pool: held } = fake.live();
      fake.beginCapture(stream.handle);
      x.dispose();
      equal(fake.live().pool, held);
      equal(fake.endCapture(stream.handle), { code: code.success, operations: [] });
      fake.release(stream.handle);
      stream.dispose();
      ok(
        await collectUntil(() => {
          fake.runAll();
          return fake.live().pool === pool;
        }),
      );
    },
  );
}

cudaTest('memory that another stream still uses is released during a capture of that stream', async () => {
  const { pool } = fake.live();
  const [own, other] = [new Stream(), new Stream()];
  const x = own.use(() => Tensor.zeros([1 << 22], 'float32', onDevice));
  own.synchronize();
  fake.delay(other.handle);
  other.use(() => x.fill(3));
  fake.beginCapture(own.handle);
  x.dispose();
  throwsCuda('CUDA_ERROR_STREAM_CAPTURE_ISOLATION', () => own.wait(other));
  equal(fake.endCapture(own.handle), { code: code.success, operations: [] });
  fake.release(other.handle);
  for (const stream of [own, other]) stream.dispose();
  ok(
    await collectUntil(() => {
      fake.runAll();
      emptyCache();
      return fake.live().pool === pool;
    }),
  );
});

cudaTest('small blocks of a captured stream stay with that stream', () => {
  const { pool } = fake.live();
  const { stream, x } = busy(4);
  x.dispose();
  const first = Tensor.zeros([4], 'float32', onDevice);
  Stream.default().synchronize();
  fake.setMemory(0, 1 << 20);
  fake.beginCapture(stream.handle);
  throwsCuda('CUDA_ERROR_OUT_OF_MEMORY', () => Tensor.empty([1 << 22], 'float32', onDevice));
  equal(fake.endCapture(stream.handle).code, code.success);
  fake.setMemory(0, 8 * 2 ** 30);
  fake.release(stream.handle);
  first.dispose();
  stream.dispose();
  synchronize();
  emptyCache();
  equal(fake.live().pool, pool);
});

cudaTest('work that cannot be part of a graph is refused, and the capture continues', async () => {
  fake.configure({ queriesRun: true });
  const stream = new Stream();
  const x = Tensor.zeros([4], 'float32', onDevice);
  const pinned = Tensor.zeros([4], 'float32', { device: 'cuda_host' });
  const [packed, other] = [Tensor.zeros([3], 'int4', onDevice), Tensor.zeros([3], 'int4', onDevice)];
  synchronize();
  const refused = 'CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED';
  fake.beginCapture(stream.handle);
  for (const action of [
    () => x.fill(3),
    () => x.copyFrom(pinned),
    () => packed.copyFrom(other), // the host inserts the last element
    () => x.to('cpu'),
    () => Tensor.from([1, 2], { dtype: 'float32' }).to('cuda:0'),
  ]) {
    throwsCuda(refused, () => stream.use<unknown>(action));
  }
  for (const action of [
    () => pinned.toAsync('cuda:0'),
    () => Tensor.from([1, 2]).toAsync('cuda:0'),
    () => x.toAsync('cpu'),
    () => x.copyAsync(),
    () => stream.done(),
  ]) {
    equal(await nameOfRejection(() => stream.use<Promise<unknown>>(action)), refused);
  }
  equal(fake.endCapture(stream.handle), { code: code.success, operations: [] });
  fake.beginCapture(stream.handle);
  const event = stream.record();
  equal(await nameOfRejection(() => event.done()), 'CUDA_ERROR_CAPTURED_EVENT');
  fake.endCapture(stream.handle);
  for (const owned of [event, stream, x, pinned, packed, other]) owned.dispose();
});

async function nameOfRejection(action: () => Promise<unknown>): Promise<string> {
  try {
    await action();
    return 'nothing';
  } catch (error) {
    return (error as CudaError).cudaName;
  }
}

cudaTest('a failed allocation during a capture leaves nothing behind', () => {
  const stream = new Stream();
  synchronize();
  fake.beginCapture(stream.handle);
  for (const length of [4, 1 << 22]) {
    fake.failNext('cuStreamSynchronize', code.launchTimeout);
    throwsCuda('CUDA_ERROR_LAUNCH_TIMEOUT', () => stream.use(() => Tensor.empty([length], 'float32', onDevice)));
  }
  equal(fake.endCapture(stream.handle).code, code.success);
  stream.dispose();
});
