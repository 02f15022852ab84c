/** JavaScript that runs in the middle of a request and makes its own requests does not change the outer request. */

import { Tensor } from 'dlpack';
import {
  asCudaArray,
  CudaEvent,
  devices,
  memoryInfo,
  pointerAttributes,
  Stream,
  synchronize,
  toCudaArrayInterface,
} from 'dlpack/cuda';
import { addressOf } from 'dlpack/native';
import { describeTensor, openTensor } from 'dlpack/shared';
import { equal, ok } from '../assert.js';
import { fake } from './fake.js';
import { cudaTest } from './machine.js';

/** Requests of every kind on the other device. `symbol`: while the driver maps memory, other mappings wait. */
function disturb(symbol: string): void {
  using x = Tensor.from([9, 8, 7], { dtype: 'float64' }).to('cuda:1');
  using y = x.flip().copy();
  equal(y.to('cpu').toArray(), [7, 8, 9]);
  using stream = new Stream({ device: 'cuda:1' });
  stream.use(() => y.fill(1));
  using event = stream.record({ timing: true });
  event.synchronize();
  equal(pointerAttributes(addressOf(x))?.deviceId, 1);
  memoryInfo('cuda:1');
  devices();
  asCudaArray(x).dispose();
  if (symbol === 'cuIpcOpenMemHandle_v2') return;
  using shareable = Tensor.zeros([5], 'int16', { device: 'cuda:1', shareable: true });
  describeTensor(shareable);
  synchronize('cuda:1');
}

/** A request returns the same result when JavaScript runs in the middle of a driver call as when none does. */
function reentryTest(name: string, symbol: string, request: () => unknown): void {
  cudaTest(`in the middle of a request: ${name}`, () => {
    const alone = request();
    let count = 0;
    fake.interruptNext(symbol, () => {
      disturb(symbol);
      count++;
    });
    equal(request(), alone);
    equal(count, 1, symbol);
  });
}

const length = 2 ** 19; // above what is kept for reuse

reentryTest('an allocation', 'cuMemAllocFromPoolAsync', () => {
  using x = Tensor.zeros([length], 'float32', { device: 'cuda:0' });
  x.slice([0, 3]).fill(2);
  return [x.device, x.shape, x.slice([0, 4]).to('cpu').toArray(), pointerAttributes(addressOf(x))?.deviceId];
});

reentryTest('an upload', 'cuMemcpyAsync', () =>
  Tensor.from([[1, 2, 3]])
    .to('cuda:0')
    .to('cpu')
    .toArray(),
);

reentryTest('a strided copy', 'cuLaunchKernel', () => {
  using x = Tensor.from([
    [1, 2, 3],
    [4, 5, 6],
  ]).to('cuda:0');
  return x.transpose().copy().to('cpu').toArray();
});

reentryTest('a clear', 'cuMemsetD8Async', () => Tensor.zeros([3], 'int8', { device: 'cuda:0' }).to('cpu').toArray());

reentryTest('attributes of an address', 'cuPointerGetAttributes', () => {
  using x = Tensor.empty([length], 'float32', { device: 'cuda:0' });
  const { rangeStart, ...rest } = pointerAttributes(addressOf(x)) ?? { rangeStart: 0n };
  return [rangeStart === addressOf(x), { ...rest, devicePointer: 0n }];
});

reentryTest('the devices', 'cuDeviceGetName', () => devices());

reentryTest('free memory', 'cuMemGetInfo_v2', () => memoryInfo());

reentryTest('a new stream', 'cuStreamCreateWithPriority', () => {
  using stream = new Stream();
  stream.synchronize();
  return stream.device;
});

reentryTest('a new event, recorded and waited for', 'cuEventCreate', () => {
  using event = new CudaEvent();
  event.record().synchronize();
  return event.isDone;
});

reentryTest('the time between events', 'cuEventElapsedTime', () => {
  using start = new CudaEvent({ timing: true });
  using end = new CudaEvent({ timing: true });
  start.record().synchronize();
  end.record().synchronize();
  return end.elapsed(start) >= 0;
});

reentryTest('an array of another library', 'cuPointerGetAttributes', () => {
  using x = Tensor.from([1, 2, 3], { dtype: 'float32' }).to('cuda:0');
  using y = asCudaArray({ __cuda_array_interface__: toCudaArrayInterface(x) });
  return [y.device, y.dtype, addressOf(y) === addressOf(x), y.to('cpu').toArray()];
});

for (const symbol of ['cuIpcGetMemHandle', 'cuIpcGetEventHandle', 'cuIpcOpenMemHandle_v2', 'cuIpcOpenEventHandle']) {
  reentryTest(`memory for another process, ${symbol}`, symbol, () => {
    using x = Tensor.zeros([4], 'float32', { device: 'cuda:0', shareable: true });
    x.fill(3);
    const shared = { ...describeTensor(x), process: '00000000000000ff' };
    ok(shared.memory !== null && shared.event !== null);
    using y = openTensor(shared);
    const result = [y.device, y.shape, y.to('cpu').toArray(), shared.size, shared.device];
    synchronize();
    return result;
  });
}
