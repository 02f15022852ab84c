import { type DType, Tensor } from 'dlpack';
import { devices, memoryInfo, pointerAttributes, Stream } from 'dlpack/cuda';
import { emptyCache, leaks, liveCounts, setDebug } from 'dlpack/debug';
import { addressOf } from 'dlpack/native';
import { equal, notEqual, ok, throws } from '../assert.js';
import { resultOf, runChild } from '../child.js';
import { collectUntil } from '../harness.js';
import { MOST_MIB } from '../peak.js';
import { code, fake } from './fake.js';
import { cudaTest, throwsCuda } from './machine.js';

const onDevice = { device: 'cuda:0' } as const;

cudaTest('devices and their properties', () => {
  const found = devices();
  equal(
    found.map(({ device }) => device),
    ['cuda:0', 'cuda:1'],
  );
  ok(found.every(({ name, totalMemory }) => name.length > 0 && totalMemory > 0));
  const { free, total } = memoryInfo('cuda:1');
  ok(free <= total && total === found[1]?.totalMemory);
  throws('ValueError', 'cuda:0', () => memoryInfo('cpu'));
  throwsCuda('CUDA_ERROR_INVALID_DEVICE', () => memoryInfo('cuda:7'));
  throwsCuda('CUDA_ERROR_INVALID_DEVICE', () => Tensor.empty([1], 'int8', { device: 'cuda:2' }));
});

cudaTest('device memory is allocated, written, read and released once', () => {
  const before = fake.live();
  const x = Tensor.from([
    [1, 2, 3],
    [4, 5, 6],
  ]);
  const there = x.to('cuda:0');
  equal([there.device, there.shape, there.dtype], ['cuda:0', [2, 3], 'float64']);
  equal(fake.live().poolBytes - before.poolBytes, 512);
  const back = there.to('cpu');
  equal(back.toArray(), x.toArray());
  notEqual(addressOf(back), addressOf(x));
  there.dispose();
  there.dispose();
  throws('DisposedError', 'released', () => there.to('cpu'));
  emptyCache();
  equal(fake.live().poolBytes, before.poolBytes);
  equal(fake.calls('cuMemFreeAsync'), fake.calls('cuMemAllocFromPoolAsync'));
  x.dispose();
  back.dispose();
});

cudaTest("to() with the tensor's own device does not copy", () => {
  const x = Tensor.zeros([4], 'int32', onDevice);
  const y = x.to('cuda:0');
  equal(addressOf(y), addressOf(x));
  x.dispose();
  y.dispose();
});

for (const loop of ['copies', 'pinned']) {
  cudaTest(`the memory of a loop in one tick does not pile up: ${loop}`, () => {
    const { output } = runChild(import.meta.url, './children/peak.js', { args: [loop] });
    const grown = resultOf<number>(output);
    ok(grown < MOST_MIB, `${grown} MiB`);
  });
}

cudaTest('without external buffers, device memory is not read as host memory', () => {
  const { code, signal, output } = runChild(import.meta.url, './children/no-external-buffers.js', {
    env: { DLPACK_NO_EXTERNAL_BUFFERS: '1' },
  });
  equal([code, signal, output.trim()], [0, null, 'not read']);
});

cudaTest('the error for host access suggests what to do', () => {
  const x = Tensor.zeros([4], 'int32', onDevice);
  throws('UnsupportedDeviceError', "to('cpu')", () => x.get(0));
  throws('UnsupportedDeviceError', "to('cpu')", () => x.data);
  throws('UnsupportedDTypeError', "to('cpu').astype('float32')", () => x.astype('float32'));
  ok(String(x).includes('cuda:0'));
  x.dispose();
});

cudaTest('printing copies only the elements that it shows', () => {
  const large = Tensor.from(
    Float32Array.from({ length: 40 * 50 }, (_, i) => i / 4),
    { shape: [40, 50] },
  );
  const tensors = [large, large.transpose(), large.slice([0, 3], [0, 4]), Tensor.from([1, -2, 3], { dtype: 'int4' })];
  for (const host of [...tensors, Tensor.zeros([0, 2], 'int8'), large.reshape([2, 20, 50])]) {
    const there = host.to('cuda:0');
    const before = fake.calls('cuMemcpyAsync') + fake.calls('cuMemcpy2DAsync_v2');
    equal(String(there), String(host).replace(' cpu', ' cuda:0'));
    ok(fake.calls('cuMemcpyAsync') + fake.calls('cuMemcpy2DAsync_v2') - before <= 4, 'one copy for each corner');
    there.dispose();
  }
  const x = large.to('cuda:0');
  fake.failNext('cuStreamSynchronize', code.invalidContext);
  equal(String(x), 'Tensor float32 [40, 50] cuda:0');
  x.dispose();
});

cudaTest('zeros, fill and copyFrom on a device', () => {
  const x = Tensor.zeros([3, 5], 'float32', onDevice);
  equal(x.to('cpu').toArray(), Tensor.zeros([3, 5], 'float32').toArray());
  x.fill(1.5);
  x.slice([1, 3], [0, 5, 2]).fill(-2);
  const want = Tensor.zeros([3, 5], 'float32');
  want.fill(1.5);
  want.slice([1, 3], [0, 5, 2]).fill(-2);
  equal(x.to('cpu').toArray(), want.toArray());
  x.slice(0).copyFrom(Tensor.from([1, 2, 3, 4, 5], { dtype: 'float32' }));
  x.slice(1).copyFrom(x.slice(0));
  want.slice(0).copyFrom(Tensor.from([1, 2, 3, 4, 5], { dtype: 'float32' }));
  want.slice(1).copyFrom(want.slice(0));
  equal(x.to('cpu').toArray(), want.toArray());
});

cudaTest('overlapping copies on a device behave as if the source were read first', () => {
  const x = Tensor.from([1, 2, 3, 4, 5], { dtype: 'int32' }).to('cuda:0');
  x.slice([1, 5]).copyFrom(x.slice([0, 4]));
  equal(x.to('cpu').toArray(), [1, 1, 2, 3, 4]);
});

cudaTest('memory without elements', () => {
  const x = Tensor.empty([0, 3], 'float32', onDevice);
  equal(x.to('cpu').shape, [0, 3]);
  equal(x.copy().nbytes, 0);
  equal(Tensor.zeros([0], 'int8').to('cuda:0').device, 'cuda:0');
});

cudaTest('small blocks are reused only on their own stream', () => {
  const first = Tensor.empty([16], 'float32', onDevice);
  const address = addressOf(first);
  first.dispose();
  const second = Tensor.empty([10], 'float64', onDevice);
  equal(addressOf(second), address);
  second.dispose();
  const calls = fake.calls('cuMemAllocFromPoolAsync');
  const stream = new Stream();
  const third = stream.use(() => Tensor.empty([16], 'float32', onDevice));
  notEqual(addressOf(third), address);
  equal(fake.calls('cuMemAllocFromPoolAsync'), calls + 1);
  stream.dispose();
  third.dispose();
});

cudaTest('pinned and managed memory have their own device names, and the host can read them', async () => {
  const live = fake.live();
  const pinned = Tensor.empty([4], 'float32', { device: 'cuda_host' });
  const managed = Tensor.empty([4], 'float32', { device: 'cuda_managed' });
  equal([pinned.device, managed.device], ['cuda_host', 'cuda_managed']);
  equal([fake.live().pinned, fake.live().managed], [live.pinned + 1, live.managed + 1]);
  pinned.data.set([1, 2, 3, 4]);
  managed.copyFrom(pinned);
  equal([...managed.data], [1, 2, 3, 4]);
  const there = managed.to('cuda:0');
  const back = there.to('cuda_host');
  equal([...back.data], [1, 2, 3, 4]);
  for (const tensor of [pinned, managed, there, back]) tensor.dispose();
  ok(await collectUntil(() => fake.live().pinned <= live.pinned && fake.live().managed <= live.managed));
});

cudaTest('two devices', () => {
  const x = Tensor.from(
    Int32Array.from({ length: 24 }, (_, i) => i),
    { shape: [4, 6] },
  );
  const a = x.to('cuda:0');
  const b = a.to('cuda:1');
  equal([b.device, b.to('cpu').toArray()], ['cuda:1', x.toArray()]);
  equal(a.transpose().to('cuda:1').to('cpu').toArray(), x.transpose().toArray());
  b.transpose().copyFrom(a.transpose());
  equal(b.to('cpu').toArray(), x.toArray());
});

cudaTest("the driver's attributes of an address", () => {
  const x = Tensor.empty([1000], 'float32', { device: 'cuda:1' });
  const at = addressOf(x);
  const found = pointerAttributes(at + 100n);
  equal([found?.device, found?.deviceId, found?.isManaged, found?.isHostAccessible], ['cuda:1', 1, false, false]);
  equal([found?.rangeStart, found?.devicePointer, found?.hostPointer], [at, at + 100n, null]);
  const pinned = Tensor.empty([4], 'int8', { device: 'cuda_host' });
  equal(pointerAttributes(addressOf(pinned))?.hostPointer, addressOf(pinned));
  equal(pointerAttributes(addressOf(pinned))?.device, 'cuda_host');
  const managed = Tensor.empty([4], 'int8', { device: 'cuda_managed' });
  equal(
    [pointerAttributes(addressOf(managed))?.isManaged, pointerAttributes(addressOf(managed))?.isHostAccessible],
    [true, true],
  );
  const host = Tensor.empty([4], 'int8');
  equal(pointerAttributes(addressOf(host)), null);
  fake.configure({ unknownPointersFail: true });
  equal(pointerAttributes(addressOf(host)), null);
  throws('TypeError', 'bigint', () => pointerAttributes(5 as never));
  throws('ValueError', 'unsigned', () => pointerAttributes(-1n));
});

cudaTest('out of memory: cached blocks are released first, and the error suggests what to do', () => {
  fake.setMemory(0, 1 << 26);
  const half: DType = 'uint8';
  const kept = Tensor.empty([1 << 25], half, onDevice);
  Tensor.empty([1 << 24], half, onDevice).dispose();
  const error = throwsCuda('CUDA_ERROR_OUT_OF_MEMORY', () => Tensor.empty([1 << 26], half, onDevice));
  ok(error.message.includes('dispose') && error.code === 2);
  kept.dispose();
  const again = Tensor.empty([1 << 25], half, onDevice);
  again.dispose();
  throwsCuda('CUDA_ERROR_OUT_OF_MEMORY', () => Tensor.empty([2 ** 49], half, { device: 'cuda_managed' }));
  fake.setMemory(0, 8 * 2 ** 30);
});

cudaTest('offsets beyond 2^32', () => {
  fake.setMemory(0, 2 ** 43);
  const x = Tensor.empty([100, 2 ** 30], 'uint8', onDevice);
  equal(x.nbytes, 100 * 2 ** 30);
  const last = x.slice(99, [2 ** 30 - 4, 2 ** 30]);
  last.fill(7);
  equal(last.to('cpu').toArray(), [7, 7, 7, 7]);
  equal(last.byteOffset, 100 * 2 ** 30 - 4);
  last.dispose();
  x.dispose();
  fake.setMemory(0, 8 * 2 ** 30);
});

cudaTest('the collector releases device memory', async () => {
  const { storages } = liveCounts();
  (() => {
    for (let i = 0; i < 100; i++) Tensor.zeros([64], 'float32', onDevice);
  })();
  ok(await collectUntil(() => liveCounts().storages <= storages));
});

cudaTest('leak reports: in debug mode, the line that made memory on a device', () => {
  setDebug(true);
  try {
    // Not in tail position, because Bun omits such frames from the stack.
    const leaked: { x?: Tensor } = {};
    function leakyUpload() {
      leaked.x = Tensor.zeros([2, 3], 'float32', onDevice);
    }
    leakyUpload();
    equal(
      leaks().map(({ stack, ...rest }) => [rest, stack.includes('leakyUpload')]),
      [[{ kind: 'storage', count: 1, bytes: 24, dtype: 'float32', shape: [2, 3], device: 'cuda:0' }, true]],
    );
    leaked.x?.dispose();
    equal(leaks(), []);
  } finally {
    setDebug(false);
  }
});

cudaTest('a failing driver call gives a typed error and leaks nothing', () => {
  const failures: [symbol: string, action: () => void][] = [
    ['cuMemAllocFromPoolAsync', () => Tensor.empty([3], 'int8', onDevice)],
    ['cuMemHostAlloc', () => Tensor.empty([3], 'int8', { device: 'cuda_host' })],
    ['cuMemAllocManaged', () => Tensor.empty([3], 'int8', { device: 'cuda_managed' })],
    ['cuMemcpyAsync', () => Tensor.from([1, 2]).to('cuda:0')],
    ['cuStreamSynchronize', () => Tensor.from([1, 2]).to('cuda:0')],
    ['cuMemsetD8Async', () => Tensor.zeros([3], 'int8', onDevice)],
    ['cuLaunchKernel', () => Tensor.zeros([30, 3], 'int8', onDevice).transpose().copy()],
    ['cuMemcpy2DAsync_v2', () => Tensor.zeros([8, 8], 'int8', onDevice).slice(null, [0, 4]).to('cpu')],
    ['cuStreamCreateWithPriority', () => new Stream()],
    ['cuMemGetInfo_v2', () => memoryInfo()],
    ['cuCtxSynchronize', () => emptyCache()],
    ['cuPointerGetAttributes', () => pointerAttributes(4096n)],
  ];
  for (const [symbol, action] of failures) {
    fake.failNext(symbol, symbol === 'cuPointerGetAttributes' ? code.notInitialized : code.invalidContext);
    throwsCuda(
      symbol === 'cuPointerGetAttributes' ? 'CUDA_ERROR_NOT_INITIALIZED' : 'CUDA_ERROR_INVALID_CONTEXT',
      action,
    );
    action();
  }
});
