/** Memory and copies of a real device, compared with the host. */

import { type DType, Tensor } from 'dlpack';
import { CudaEvent, devices, memoryInfo, pointerAttributes, synchronize } from 'dlpack/cuda';
import { emptyCache, liveCounts } from 'dlpack/debug';
import { addressOf } from 'dlpack/native';
import { equal, ok } from '../assert.js';
import { collectUntil, test } from '../harness.js';
import { randomFrom } from '../random.js';

function bytesOf(tensor: Tensor): Uint8Array {
  const packed = tensor.contiguous();
  const data = packed.unsafeData();
  return new Uint8Array(data.buffer, data.byteOffset, packed.nbytes).slice();
}

function randomTensor(shape: number[], dtype: DType, seed: number): Tensor {
  const tensor = Tensor.empty(shape, dtype);
  const data = tensor.unsafeData();
  new Uint8Array(data.buffer, data.byteOffset, tensor.nbytes).set(randomFrom(seed).bytes(tensor.nbytes));
  return tensor;
}

test('the device', () => {
  const [first] = devices();
  ok(first !== undefined && first.totalMemory > 0 && first.multiprocessors > 0, 'no device');
  console.log(`${first.name}, compute capability ${first.computeCapability.join('.')}`);
});

for (const dtype of ['uint8', 'int16', 'float32', 'float64', 'complex128', 'float32x3'] as const) {
  test(`${dtype}: views to and from the device, and on it`, () => {
    for (const shape of [
      [3, 7, 9],
      [2, 130, 67],
      [1, 256, 128],
    ]) {
      const host = randomTensor(shape, dtype, shape[1] as number);
      const there = host.to('cuda:0');
      const views: Record<string, (x: Tensor) => Tensor> = {
        whole: (x) => x,
        turned: (x) => x.transpose() as Tensor,
        'inner axes swapped': (x) => x.transpose([0, 2, 1]) as Tensor,
        'outer axes swapped': (x) => x.transpose([1, 0, 2]) as Tensor,
        rotated: (x) => x.transpose([2, 0, 1]) as Tensor,
        part: (x) => x.slice(null, [1, 6], [1, 8]).transpose([0, 2, 1]) as Tensor,
        'every second': (x) => x.slice(null, [0, 7, 2], [0, 9, 3]) as Tensor,
        backwards: (x) => x.flip(2) as Tensor,
      };
      for (const [name, view] of Object.entries(views)) {
        const want = bytesOf(view(host));
        equal(bytesOf(view(there).copy().to('cpu')), want, `${name} on the device`);
        equal(bytesOf(view(there).to('cpu')), want, `${name} to the host`);
        equal(bytesOf(view(host).to('cuda:0').to('cpu')), want, `${name} to the device`);
        equal(bytesOf(view(there).to('cuda_host')), want, `${name} to pinned memory`);
      }
    }
  });
}

test('types below a byte', () => {
  const host = randomTensor([5, 6], 'int4', 3);
  const there = host.to('cuda:0');
  equal(there.to('cpu').toArray(), host.toArray());
  equal(there.transpose().to('cpu').toArray(), host.transpose().toArray());
});

test('asynchronous copies', async () => {
  const host = randomTensor([300, 500], 'float32', 9);
  const there = await host.transpose().toAsync('cuda:0');
  equal(bytesOf(await there.toAsync('cpu')), bytesOf(host.transpose()));
  equal(bytesOf(await there.toAsync('cuda_host')), bytesOf(host.transpose()));
});

test('pinned and managed memory', () => {
  for (const device of ['cuda_host', 'cuda_managed'] as const) {
    const x = Tensor.empty([1000], 'float32', { device });
    x.data.fill(3);
    const there = x.to('cuda:0');
    there.fill(4);
    x.copyFrom(there);
    equal([x.get(0), x.get(999)], [4, 4]);
    equal(pointerAttributes(addressOf(x))?.device, device);
    equal(pointerAttributes(addressOf(x))?.devicePointer, addressOf(x));
  }
});

test('100 GiB, and offsets beyond 2^32', () => {
  emptyCache();
  const { free } = memoryInfo();
  const gibibytes = Math.min(100, Math.floor(free / 2 ** 30) - 2);
  const x = Tensor.empty([gibibytes, 2 ** 30], 'uint8', { device: 'cuda:0' });
  const last = x.slice(gibibytes - 1, [2 ** 30 - 4, 2 ** 30]);
  last.fill(7);
  equal(last.to('cpu').toArray(), [7, 7, 7, 7]);
  console.log(`${gibibytes} GiB in one tensor`);
  x.slice(0).copyFrom(x.slice(gibibytes - 1));
  equal(
    x
      .slice(0, [2 ** 30 - 4, 2 ** 30])
      .to('cpu')
      .toArray(),
    [7, 7, 7, 7],
  );
  const column = x.slice(null, 2 ** 30 - 1);
  equal(column.copy().shape, [gibibytes]);
});

test('released memory can be allocated again', async () => {
  ok(await collectUntil(() => liveCounts().storages === 0), `${liveCounts().storages} storages are left`);
  emptyCache();
  const before = memoryInfo().free;
  for (let i = 0; i < 200; i++) Tensor.empty([2 ** 26], 'float32', { device: 'cuda:0' }).dispose();
  for (let i = 0; i < 100_000; i++) Tensor.empty([16], 'float32', { device: 'cuda:0' }).dispose();
  emptyCache();
  equal(memoryInfo().free, before);
});

test('events measure time', () => {
  const start = new CudaEvent({ timing: true }).record();
  const x = Tensor.zeros([2 ** 28], 'float32', { device: 'cuda:0' });
  const end = new CudaEvent({ timing: true }).record();
  synchronize();
  ok(end.elapsed(start) > 0);
  x.dispose();
});
