import { type Device, Tensor } from 'dlpack';
import { asCudaArray, CudaEvent, loadDriver, memoryInfo, Stream, synchronize, toCudaArrayInterface } from 'dlpack/cuda';
import { emptyCache } from 'dlpack/debug';
import { describeTensor, openTensor } from 'dlpack/shared';
import { equal, ok, throws } from '../assert.js';
import { runChild } from '../child.js';
import { fake, fakeDriverPath } from './fake.js';
import { cudaTest, throwsCuda } from './machine.js';

cudaTest('a wait that cannot start rejects and does not keep the process running', () => {
  const { code, signal, output } = runChild(import.meta.url, './children/failed-wait.js');
  equal([code, signal], [0, null], output);
  ok(output.includes('CUDA_ERROR_INVALID_DEVICE') && output.includes('CUDA_ERROR_INVALID_CONTEXT'), output);
});

cudaTest('a stream is a Stream, its number, an object with its number, or null for the current stream', () => {
  const event = new CudaEvent();
  const stream = new Stream();
  const other = new Stream({ device: 'cuda:1' });
  throws('TypeError', 'a Stream of dlpack/cuda, a bigint or null', () => event.record(7 as never));
  throws('ValueError', '0 is ambiguous', () => event.record(0n));
  throws('ValueError', 'a stream to wait on', () => event.record(-1n));
  throws('ValueError', "a stream of 'cuda:0'", () => event.record(other));
  stream.use(() => {
    for (const named of [null, undefined, stream, stream.handle, { handle: stream.handle }]) {
      fake.delay(stream.handle);
      const x = Tensor.zeros([4], 'int8', { device: 'cuda:0' });
      equal(event.record(named).isDone, false, 'it is behind the work on that stream');
      fake.release(stream.handle);
      event.synchronize();
      x.dispose();
    }
  });
  for (const named of [1n, 2n]) event.record(named).synchronize();
  for (const named of [stream, other, stream.handle, null, 1n]) stream.wait(named);
  throwsCuda('CUDA_ERROR_INVALID_HANDLE', () => stream.wait(other.handle));
  throws('TypeError', 'a Stream', () => event.record(new Proxy(stream, {})));
  throws('TypeError', 'a Stream', () => event.record(Object.create(Stream.prototype)));
  for (const wrong of [Object.create(Stream.prototype), {}, 'cuda:0', 5] as never[]) {
    throws('TypeError', 'a Stream', () => stream.wait(wrong));
  }
  throws('TypeError', 'a CudaEvent', () => event.elapsed(Object.create(CudaEvent.prototype)));
  for (const owned of [stream, other, event]) owned.dispose();
});

cudaTest('a stream object of another library, with the property names that libraries use', () => {
  const stream = new Stream();
  const { handle } = stream;
  const objects = [
    { __cuda_stream__: () => [0, Number(handle)] },
    { __cuda_stream__: () => [0n, handle] },
    { cuda_stream: handle },
    { ptr: Number(handle) },
    { __cuda_stream__: () => [7, 1n], handle },
    stream,
    handle,
  ];
  for (const object of objects) equal(Stream.from(object).handle, handle);
  equal(Stream.from(0n).handle, 1n);
  for (const wrong of [null, undefined, 5, 'cuda:0', {}, { ptr: 1.5 }, { handle: 'x' }] as never[]) {
    throws('TypeError', '__cuda_stream__, cuda_stream, ptr or handle', () => Stream.from(wrong));
  }
  stream.dispose();
});

cudaTest('a path to another driver than the loaded one throws', () => {
  loadDriver();
  loadDriver({ path: fakeDriverPath });
  loadDriver({ path: fakeDriverPath.replace(/([^/]*)$/, './$1') });
  throws('ValueError', 'which this process has loaded', () => loadDriver({ path: 'libcuda.so.1' }));
  throws('ValueError', fakeDriverPath, () => loadDriver({ path: '/nowhere/libcuda.so' }));
  throws('TypeError', 'a string', () => loadDriver({ path: 5 as never }));
});

cudaTest('a property that hides the handle of a stream or an event has no effect', () => {
  const stream = new Stream();
  const event = new CudaEvent();
  for (const owned of [stream, event]) {
    Object.defineProperty(owned, 'handle', {
      get() {
        event.dispose();
        return 12345n;
      },
    });
  }
  event.record(stream);
  stream.wait(event);
  stream.use(() => Tensor.empty([4], 'int8', { device: 'cuda:0' }).dispose());
  stream.synchronize();
  equal([stream.isDone, event.isDone, stream.isCapturing], [true, true, false]);
  stream.dispose();
  event.dispose();
});

cudaTest('options that are not an object throw', () => {
  const tensor = Tensor.empty([2], 'int8', { device: 'cuda:0' });
  const stream = new Stream();
  for (const wrong of [null, 5, 'cuda:1', ['cuda:1']] as never[]) {
    throws('TypeError', 'for options', () => new Stream(wrong));
    throws('TypeError', 'for options', () => new CudaEvent(wrong));
    throws('TypeError', 'for options', () => stream.record(wrong));
    throws('TypeError', 'for options', () => loadDriver(wrong));
    throws('TypeError', 'for options', () => toCudaArrayInterface(tensor, wrong));
    throws('TypeError', 'for options', () => asCudaArray(tensor, wrong));
  }
  const unknown = <T>(name: string): T => ({ [name]: 1 }) as T;
  throws('TypeError', "did you mean 'device'?", () => new Stream(unknown('devise')));
  throws('TypeError', "did you mean 'timing'?", () => new CudaEvent(unknown('timings')));
  throws('TypeError', "did you mean 'timing'?", () => stream.record(unknown('Timing')));
  throws('TypeError', "received 'device'", () => stream.record(unknown('device'))); // the stream has a device
  throws('TypeError', 'a boolean for timing but received 1', () => new CudaEvent({ timing: 1 as never }));
  throws('TypeError', "did you mean 'path'?", () => loadDriver(unknown('paht')));
  throws('TypeError', "did you mean 'version'?", () => toCudaArrayInterface(tensor, unknown('versions')));
  throws('TypeError', "did you mean 'sync'?", () => asCudaArray(tensor, unknown('synch')));
  throws('TypeError', "did you mean 'sync'?", () => describeTensor(tensor, unknown('snyc')));
  throws('TypeError', "did you mean 'stream'?", () => openTensor({ dlpackTicket: '' }, unknown('steam') as never));
  stream.dispose();
  tensor.dispose();
});

cudaTest('getters of options run before the driver is called', () => {
  const event = new CudaEvent({
    device: 'cuda:1',
    get timing() {
      memoryInfo('cuda:0');
      return true;
    },
  });
  event.record(Stream.default('cuda:1')).synchronize();
  event.dispose();
});

cudaTest('a device may be given by its numbers everywhere', () => {
  const numbers = Object.assign(Object.create(null), { type: 2, id: 1 }) as Device;
  equal(memoryInfo(numbers), memoryInfo('cuda:1'));
  synchronize(numbers);
  emptyCache(numbers);
  throwsCuda('CUDA_ERROR_INVALID_DEVICE', () => synchronize({ type: 2, id: 9 } as never));
});

cudaTest('an event that cannot be recorded is released at once', () => {
  const { events } = fake.live();
  const stream = new Stream();
  fake.failNext('cuEventRecord', 201);
  throwsCuda('CUDA_ERROR_INVALID_CONTEXT', () => stream.record());
  equal(fake.live().events, events);
  stream.dispose();
});
