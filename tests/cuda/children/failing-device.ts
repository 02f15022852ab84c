/**
 * For each kind of asynchronous copy, a device that fails during the copy. The promise rejects, memory of
 * the host and of this package is released, other devices still work, and the process ends by itself.
 */

import { Tensor } from 'dlpack';
import { type CudaError, loadDriver, memoryInfo, Stream, synchronize } from 'dlpack/cuda';
import { emptyCache, liveCounts } from 'dlpack/debug';
import { equal, ok } from '../../assert.js';
import { code, fake, fakeDriverPath } from '../fake.js';

type Place = `cuda:${number}`;

const matrix = () => Tensor.from(new Float32Array(1 << 12).fill(1), { shape: [64, 64] });
const numbers = new Float32Array(64 * 64).fill(2);

/** Prepares the tensors while the device is idle, and then starts the copy. */
const ways: Record<string, [make: (place: Place) => Tensor, copy: (x: Tensor, place: Place) => Promise<Tensor>]> = {
  upload: [matrix, (x, place) => x.toAsync(place)],
  'upload of a view': [() => matrix().transpose() as Tensor, (x, place) => x.toAsync(place)],
  'upload of JavaScript memory': [() => Tensor.wrap(numbers, { shape: [64, 64] }), (x, place) => x.toAsync(place)],
  'upload of pinned memory': [() => matrix().to('cuda_host'), (x, place) => x.toAsync(place)],
  download: [(place) => matrix().to(place), (x) => x.toAsync('cpu')],
  'download of a view': [(place) => matrix().to(place).transpose() as Tensor, (x) => x.toAsync('cpu')],
  'download to pinned memory': [(place) => matrix().to(place), (x) => x.toAsync('cuda_host')],
  'copy on the device': [(place) => matrix().to(place).transpose() as Tensor, (x) => x.copyAsync()],
  'copy between devices': [() => matrix().to('cuda:0'), (x, place) => x.toAsync(place)],
};

fake.setDevices(Object.keys(ways).length + 1);
loadDriver({ path: fakeDriverPath });
fake.configure({ queriesRun: true });
Tensor.empty([1], 'int8', { device: 'cuda_host' }).dispose();
const before = liveCounts();

/** The driver's name for the error that the action throws. */
function nameOfError(action: () => unknown): string | undefined {
  try {
    action();
    return undefined;
  } catch (error) {
    return (error as Partial<CudaError>).cudaName;
  }
}

/** The error of a copy whose device fails once the copy has begun. */
async function failing(name: string, place: Place, id: number): Promise<void> {
  const [make, copy] = ways[name] as (typeof ways)[string];
  const stream = new Stream({ device: place });
  const x = make(place);
  synchronize(place);
  fake.delay(stream.handle, id);
  const copying = stream.use(() => copy(x, place));
  x.dispose();
  // Threads of the pool are in the driver by then, or get the failure from it.
  await new Promise((resolve) => setTimeout(resolve, 20));
  fake.failDevice(id, code.illegalAddress);
  let error: CudaError | undefined;
  await copying.then(
    (copied) => copied.dispose(),
    (reason: CudaError) => {
      error = reason;
    },
  );
  equal(error?.cudaName, 'CUDA_ERROR_ILLEGAL_ADDRESS', `${name}: ${String(error)}`);
  for (const action of [
    () => Tensor.zeros([4], 'int8', { device: place }),
    () => matrix().to(place),
    () => stream.synchronize(),
    () => stream.isDone,
    () => stream.wait(Stream.default(place)),
    () => stream.record(),
    () => new Stream({ device: place }),
    () => memoryInfo(place),
    () => emptyCache(place),
  ]) {
    equal(nameOfError(action), 'CUDA_ERROR_ILLEGAL_ADDRESS', `${name}: ${action}`);
  }
  stream.dispose();
}

for (const [i, name] of Object.keys(ways).entries()) await failing(name, `cuda:${i + 1}`, i + 1);
equal([numbers[0], numbers.length], [2, 64 * 64]);
equal(matrix().to('cuda:0').to('cpu').get(63, 63), 1);
const isBack = () => liveCounts().storages <= before.storages && liveCounts().pins <= before.pins;
for (let i = 0; i < 2000 && !isBack(); i++) {
  (globalThis as { gc?: () => void }).gc?.();
  await new Promise((resolve) => setTimeout(resolve, 10));
}
ok(isBack(), `${JSON.stringify(before)} became ${JSON.stringify(liveCounts())}`);
equal(fake.errors(), []);
console.log('all given back');
