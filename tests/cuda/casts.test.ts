/** Casts on a device: the same bits as on the host, and the launch path. */

import { Tensor } from 'dlpack';
import { Stream } from 'dlpack/cuda';
import { equal, throws } from '../assert.js';
import { collectUntil } from '../harness.js';
import { bytesOf, castPairs, castValues, compareCast, compareScaled, scaledPairs } from './cast-values.js';
import { fake } from './fake.js';
import { cudaTest } from './machine.js';

// First, because a device loads its kernels once.
cudaTest('kernels that could not be loaded are unloaded, and the next cast or copy loads them again', () => {
  using x = Tensor.zeros([4, 6], 'float32', { device: 'cuda:0' });
  const { modules } = fake.live();
  const cast = () => x.astype('float16').dispose();
  const copy = () => x.transpose().contiguous().dispose();
  for (const [count, use] of [cast, copy].entries()) {
    for (const skip of [0, 2]) {
      fake.failNext('cuModuleGetFunction', 2, skip);
      throws('CudaError', 'memory', use);
      equal(fake.live().modules, modules + count, 'modules');
    }
    fake.failNext('cuModuleLoadData', 2);
    throws('CudaError', 'memory', use);
    use();
    use();
    equal(fake.live().modules, modules + count + 1, 'loaded once');
  }
});

cudaTest('every value of the small types, and float32 numbers around them, as the host converts them', () => {
  for (const pair of castPairs) {
    using values = castValues(pair, 97);
    compareCast(pair, values);
  }
});

cudaTest('views, single elements, and addresses that vectors cannot use', () => {
  using host = Tensor.from(
    Float32Array.from({ length: 60 }, (_, i) => i / 7),
    { shape: [3, 4, 5] },
  );
  using there = host.to('cuda:0');
  for (const dtype of ['float16', 'float8_e4m3fn'] as const) {
    for (const view of [
      (x: Tensor) => x.transpose(),
      (x: Tensor) => x.slice([1, 3], [0, 4, 2], [1, 5]),
      (x: Tensor) => x.flip(1),
      (x: Tensor) => x.slice(2, 3, 4),
      (x: Tensor) => x.reshape([60]).slice([1, 60]),
    ]) {
      using cast = view(there as Tensor)
        .astype(dtype)
        .to('cpu');
      using wanted = view(host as Tensor).astype(dtype);
      equal([cast.shape, bytesOf(cast)], [wanted.shape, bytesOf(wanted)]);
    }
  }
  using small = there.astype('float8_e5m2');
  using odd = small.reshape([60]).slice([3, 60]).astype('bfloat16').to('cpu');
  using wanted = host.astype('float8_e5m2').reshape([60]).slice([3, 60]).astype('bfloat16');
  equal(bytesOf(odd), bytesOf(wanted));
});

cudaTest('more elements than one block converts, with a remainder', () => {
  using host = Tensor.from(Float32Array.from({ length: 9001 }, (_, i) => i - 4000));
  using there = host.to('cuda:0');
  for (const dtype of ['bfloat16', 'float16', 'float8_e4m3fn'] as const) {
    using down = there.astype(dtype);
    using up = down.astype('float32').to('cpu');
    using wanted = host.astype(dtype).astype('float32');
    equal(bytesOf(up), bytesOf(wanted));
  }
});

cudaTest('into a view of another type, empty tensors, and the asynchronous form', async () => {
  using target = Tensor.zeros([4, 6], 'float16', { device: 'cuda:0' });
  using source = Tensor.from([[1, 2], [3, 4]], { dtype: 'float32' }).to('cuda:0'); // biome-ignore format: a table
  using part = target.slice([1, 3], [2, 4]);
  part.copyFrom(source);
  using back = target.to('cpu');
  equal([back.get(1, 2), back.get(2, 3), back.get(0, 0)], [1, 4, 0]);
  using none = Tensor.empty([0, 3], 'float32', { device: 'cuda:0' }).astype('float16');
  equal(none.shape, [0, 3]);
  let later: Tensor<'bfloat16'> | undefined;
  const casting = source.astypeAsync('bfloat16').then((tensor) => {
    later = tensor;
  });
  // The fake driver runs nothing by itself.
  await collectUntil(() => {
    fake.runAll();
    return later !== undefined;
  });
  await casting;
  using here = later?.to('cpu') as Tensor;
  equal([later?.device, ...here], ['cuda:0', 1, 2, 3, 4]);
  later?.dispose();
});

cudaTest('a scale and an offset, for all elements and for each channel, as the host converts them', () => {
  for (const [from, to] of scaledPairs) compareScaled(from, to);
  using empty = Tensor.zeros([0, 3], 'uint8', { device: 'cuda:0' }).astype('float32', { scale: [1, 2, 3], axis: 1 });
  equal(empty.shape, [0, 3]);
  using zero = Tensor.zeros([1], 'uint8', { device: 'cuda:0' });
  for (const offset of [0, -0, 0]) {
    using scaled = zero.astype('float32', { scale: -1, offset });
    using back = scaled.to('cpu');
    equal(Object.is(back.get(0), offset), true, `the sign of ${Object.is(offset, -0) ? '-0' : 0}`);
  }
  for (let i = 0; i < 600; i++) zero.astype('float32', { offset: i }).dispose(); // more scales than tables are kept
  using wide = Tensor.zeros([4], 'float32', { device: 'cuda:0' });
  throws('UnsupportedDTypeError', "'float32' to 'float64' with a scale; convert on the host", () =>
    wide.astype('float64', { scale: 2 }),
  );
  equal(fake.errors(), []);
});

cudaTest('the cast waits for work on the source, on the current stream', () => {
  using first = new Stream();
  using second = new Stream();
  using x = Tensor.zeros([1000], 'float32', { device: 'cuda:0' });
  using ones = Tensor.from(new Float32Array(1000).fill(1)).to('cuda:0');
  first.use(() => x.copyFrom(ones));
  using y = second.use(() => x.astype('float16'));
  using back = y.to('cpu');
  equal(back.get(999), 1);
  equal(fake.errors(), []);
});

cudaTest('types without a kernel, other devices, and a driver that refuses', () => {
  using x = Tensor.zeros([4], 'float32', { device: 'cuda:0' });
  for (const dtype of ['int32', 'float64', 'complex64', 'int4', 'float8_e8m0fnu'] as const) {
    throws('UnsupportedDTypeError', 'convert on the host', () => x.astype(dtype));
  }
  using other = Tensor.zeros([4], 'float16', { device: 'cuda:1' });
  throws('UnsupportedDTypeError', 'convert on the host', () => other.copyFrom(x));
  fake.failNext('cuLaunchKernel', 719);
  throws('CudaError', "a cast from 'float32' to 'float16'", () => x.astype('float16'));
  using y = x.astype('float16');
  equal(y.dtype, 'float16');
});
