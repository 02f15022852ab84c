import {
  DLPACK,
  DLPACK_DEVICE,
  type DLPackProducer,
  type DLPackRequest,
  type DLPackSource,
  fromDLPack,
  Tensor,
} from 'dlpack';
import { CudaEvent, Stream, synchronize } from 'dlpack/cuda';
import { addressOf } from 'dlpack/native';
import { equal, ok, throws } from '../assert.js';
import { collectUntil } from '../harness.js';
import { code, fake, fakeDriver, made } from './fake.js';
import { cudaTest, throwsCuda } from './machine.js';

const onDevice = { device: 'cuda:0' } as const;

cudaTest('after a copy that failed in the middle, the memory waits for the launches that were queued', () => {
  const shape = [2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 3];
  const x = Tensor.zeros([1 << 20], 'int16', onDevice);
  const view = x
    .slice([0, 3072])
    .reshape(shape)
    .transpose([...shape.keys()].reverse());
  const stream = new Stream();
  synchronize();
  fake.failNext('cuLaunchKernel', code.launchTimeout, 1);
  throwsCuda('CUDA_ERROR_LAUNCH_TIMEOUT', () => stream.use(() => view.copy()));
  for (const owned of [x, view, stream]) owned.dispose();
});

/** A JavaScript library that queues work on its own stream. */
function foreignArray(x: Tensor, stream: bigint, hasDevice: boolean): DLPackProducer {
  const producer = {
    [DLPACK]({ stream: named }: DLPackRequest = {}) {
      const event = new CudaEvent().record(Stream.from(stream));
      Stream.from(named ?? 1n).wait(event);
      event.dispose();
      return {
        version: [1, 3] as const,
        flags: 0,
        data: addressOf(x),
        byteOffset: 0,
        shape: [4],
        strides: null,
        dtype: { code: 1, bits: 32, lanes: 1 },
        device: { type: 2, id: 0 },
        deleter: () => {},
      };
    },
    ...(hasDevice ? { [DLPACK_DEVICE]: () => ({ type: 2, id: 0 }) } : {}),
  };
  return producer as unknown as DLPackProducer;
}

for (const [name, hasDevice, stream] of [
  ['that says where it is', true, undefined],
  ['that does not say where it is', false, undefined],
  ['for a stream that was named', true, 1n],
] as const) {
  cudaTest(`a tensor ${name} is ready for work on any stream`, () => {
    const x = Tensor.zeros([4], 'uint32', onDevice);
    synchronize();
    const theirs = made(fakeDriver, 'cuStreamCreateWithPriority', 1, 0);
    const [a, b] = [new Stream(), new Stream()];
    fakeDriver.must('cuMemsetD8Async', addressOf(x), 1, 16, theirs);
    const options = stream === undefined ? undefined : { stream };
    const y = a.use(() => fromDLPack(foreignArray(x, theirs, hasDevice), options));
    fakeDriver.must('cuStreamDestroy_v2', theirs);
    const copies = [a, b, Stream.default()].map((on) => on.use(() => y.copy()));
    for (const copy of copies) equal(copy.to('cpu').toArray(), Array(4).fill(0x01010101));
    for (const owned of [...copies, y, x, a, b]) owned.dispose();
  });
}

cudaTest('a tensor that our stream cannot wait for is refused and released', async () => {
  const x = Tensor.zeros([4], 'uint32', onDevice);
  synchronize();
  let deleted = 0;
  const managed = {
    ...((foreignArray(x, 1n, true)[DLPACK] as () => object)() as object),
    deleter: () => {
      deleted++;
    },
  };
  const stream = new Stream();
  fake.failNext('cuEventRecord', code.invalidContext);
  throwsCuda('CUDA_ERROR_INVALID_CONTEXT', () =>
    stream.use(() => fromDLPack({ [DLPACK]: () => managed } as DLPackSource)),
  );
  ok(await collectUntil(() => deleted === 1));
  stream.dispose();
  x.dispose();
});

cudaTest('managed memory is handed over to streams like device memory', async () => {
  const { managed: others } = fake.live();
  fake.configure({ queriesRun: true });
  const managed = Tensor.zeros([4], 'float32', { device: 'cuda_managed' }) as Tensor & DLPackProducer;
  const theirs = made(fakeDriver, 'cuStreamCreateWithPriority', 1, 0);
  const stream = new Stream();
  fake.delay(stream.handle);
  const copying = stream.use(() => managed.toAsync('cuda:0'));
  const taken = fromDLPack({ [DLPACK]: () => managed[DLPACK]({ stream: theirs, native: true }) } as DLPackSource);
  fakeDriver.must('cuMemsetD8Async', addressOf(managed), 7, 16, theirs);
  throws('BufferError', 'ambiguous', () => managed[DLPACK]({ stream: 0n, native: true }));
  fake.release(stream.handle);
  fake.runAll();
  fakeDriver.must('cuStreamSynchronize', theirs);
  const copy = await copying;
  equal(copy.to('cpu').toArray(), [0, 0, 0, 0]);
  for (const owned of [copy, taken, managed, stream]) owned.dispose();
  ok(await collectUntil(() => fake.live().managed <= others));
  fakeDriver.must('cuStreamDestroy_v2', theirs);
});

cudaTest('CUDA does not copy memory of other kinds of devices', () => {
  const x = Tensor.zeros([4], 'float32', onDevice);
  const foreign = fromDLPack({
    [DLPACK]: () => ({
      version: [1, 3],
      flags: 0,
      data: addressOf(x),
      byteOffset: 0,
      shape: [2, 2],
      strides: null,
      dtype: { code: 2, bits: 32, lanes: 1 },
      device: { type: 10, id: 0 },
    }),
  } as DLPackSource);
  throws('UnsupportedDeviceError', 'rocm:0', () => foreign.copyFrom(x.reshape([2, 2])));
  throws('UnsupportedDeviceError', 'rocm:0', () => x.reshape([2, 2]).copyFrom(foreign));
  throws('UnsupportedDeviceError', 'rocm:0', () => foreign.to('cuda:0'));
  foreign.dispose();
  x.dispose();
});

for (const how of ['gone', 'busy'] as const) {
  cudaTest(`a consumer's blocking stream that is ${how} when the memory is used and released`, () => {
    const theirs = made(fakeDriver, 'cuStreamCreateWithPriority', 0, 0);
    const x = Tensor.zeros([4], 'uint8', onDevice) as Tensor & DLPackProducer;
    synchronize();
    fromDLPack({ [DLPACK]: () => x[DLPACK]({ stream: theirs, native: true }) } as DLPackSource).dispose();
    const address = addressOf(x);
    fakeDriver.must('cuMemsetD8Async', address, 7, 4, theirs);
    if (how === 'gone') {
      fakeDriver.must('cuStreamSynchronize', theirs);
      fakeDriver.must('cuStreamDestroy_v2', theirs);
    }
    // A stream of ours that only an event orders with theirs.
    const stream = new Stream();
    const copy = stream.use(() => x.copy());
    stream.synchronize();
    equal(copy.to('cpu').toArray(), [7, 7, 7, 7]);
    for (const owned of [x, copy, stream]) owned.dispose();
    if (how === 'busy') fakeDriver.must('cuStreamDestroy_v2', theirs);
  });
}
