import { type DType, Tensor } from 'dlpack';
import { fromCudaArrayInterface } from 'dlpack/cuda';
import { addressOf } from 'dlpack/native';
import { equal, throws } from '../assert.js';
import { randomFrom } from '../random.js';
import { fake } from './fake.js';
import { cudaTest, throwsCuda } from './machine.js';

/** Dtypes of every item size, of several lanes, and below a byte. */
const dtypes: DType[] = ['uint8', 'float16', 'float32', 'float64', 'complex128', 'float32x3', 'bool', 'bfloat16'];

/** Bytes of a tensor on the host, in order. */
function bytesOf(tensor: Tensor): Uint8Array {
  const packed = tensor.contiguous();
  const data = packed.unsafeData();
  return new Uint8Array(data.buffer, data.byteOffset, packed.nbytes).slice();
}

function randomTensor(shape: number[], dtype: DType, seed: number): Tensor {
  const tensor = Tensor.empty(shape, dtype);
  const data = tensor.unsafeData();
  const bytes = new Uint8Array(data.buffer, data.byteOffset, tensor.nbytes);
  bytes.set(
    randomFrom(seed)
      .bytes(bytes.length)
      .map((value) => (dtype === 'bool' ? value & 1 : value)),
  );
  return tensor;
}

/** Views that no memcpy can do, by name. */
const views: Record<string, (x: Tensor) => Tensor> = {
  whole: (x) => x,
  transposed: (x) => x.transpose() as Tensor,
  rotated: (x) => x.transpose([2, 0, 1]) as Tensor,
  'inner two swapped': (x) => x.transpose([0, 2, 1]) as Tensor,
  'outer two swapped': (x) => x.transpose([1, 0, 2]) as Tensor,
  'part of rows': (x) => x.slice(null, null, [1, 5]) as Tensor,
  'every second': (x) => x.slice(null, [0, 7, 2], [0, 9, 3]) as Tensor,
  backwards: (x) => x.flip(2) as Tensor,
  'backwards and turned': (x) => x.flip(0).transpose() as Tensor,
  'one plane': (x) => x.slice(1) as Tensor,
  repeated: (x) => x.slice([0, 1]).broadcastTo([4, 7, 9]) as Tensor,
};

for (const dtype of dtypes) {
  cudaTest(`${dtype}: any view to and from a device, and on it`, () => {
    const host = randomTensor([3, 7, 9], dtype, 7);
    const there = host.to('cuda:0');
    for (const [name, view] of Object.entries(views)) {
      const want = bytesOf(view(host));
      equal(bytesOf(view(there).to('cpu')), want, `${name} to the host`);
      equal(bytesOf(view(there).copy().to('cpu')), want, `${name} on the device`);
      equal(bytesOf(view(host).to('cuda:0').to('cpu')), want, `${name} to the device`);
      equal(bytesOf(view(there).to('cuda:1').to('cpu')), want, `${name} to another device`);
      equal(bytesOf(view(there).to('cuda_host')), want, `${name} to pinned memory`);
      if (name === 'repeated') continue;
      const target = Tensor.zeros([3, 7, 9], dtype, { device: 'cuda:0' });
      const expected = Tensor.zeros([3, 7, 9], dtype);
      view(target).copyFrom(view(there));
      view(expected).copyFrom(view(host));
      equal(bytesOf(target.to('cpu')), bytesOf(expected), `${name} into the same of another`);
      view(target).copyFrom(view(host));
      equal(bytesOf(target.to('cpu')), bytesOf(expected), `${name} of the host into it`);
    }
  });
}

cudaTest('matrices larger than a tile, at whole and odd sizes and offsets', () => {
  for (const dtype of ['uint8', 'int16', 'float32', 'float64', 'complex128'] as const) {
    for (const [rows, columns] of [
      [256, 128],
      [130, 69],
      [9, 300],
    ] as const) {
      const host = randomTensor([rows, columns], dtype, rows);
      const there = host.to('cuda:0');
      equal(bytesOf(there.transpose().copy().to('cpu')), bytesOf(host.transpose()), `${dtype} ${rows} x ${columns}`);
      const inner = (x: Tensor) => x.slice([1, rows], [1, columns]).transpose();
      equal(bytesOf(inner(there).copy().to('cpu')), bytesOf(inner(host)), `${dtype} inside ${rows} x ${columns}`);
    }
  }
});

cudaTest('complex numbers that are aligned for their parts only', () => {
  for (const [typestr, dtype, part] of [
    ['<c16', 'complex128', 'float64'],
    ['<c8', 'complex64', 'float32'],
  ] as const) {
    const numbers = Tensor.from(
      Array.from({ length: 2 * 15 * 20 + 1 }, (_, i) => i),
      { dtype: part },
    );
    const there = numbers.to('cuda:0');
    const half = BigInt(there.nbytes / there.size);
    const data = [addressOf(there) + half, false] as const;
    const x = fromCudaArrayInterface({ shape: [15, 20], typestr, data, version: 3, stream: 1n }, there);
    const want = Tensor.empty([15, 20], dtype);
    want.unsafeData().set(numbers.unsafeData().subarray(1) as never);
    equal(bytesOf(x.transpose().copy().to('cpu')), bytesOf(want.transpose()), dtype);
    equal(bytesOf(x.slice(null, [0, 20, 3]).copy().to('cpu')), bytesOf(want.slice(null, [0, 20, 3])), dtype);
    const target = Tensor.zeros([20, 15], dtype, { device: 'cuda:0' });
    target.copyFrom(x.transpose());
    x.copyFrom(target.transpose());
    equal(bytesOf(x.to('cpu')), bytesOf(want), dtype);
  }
});

cudaTest('more axes than a launch takes', () => {
  const shape = [2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 3];
  const axes = [...shape.keys()].reverse();
  const host = randomTensor(shape, 'int16', 3);
  const there = host.to('cuda:0');
  equal(bytesOf(there.transpose(axes).copy().to('cpu')), bytesOf(host.transpose(axes)));
});

cudaTest('types below a byte are copied packed, and the host unpacks them at odd bit offsets', () => {
  for (const dtype of ['int4', 'float4_e2m1fn', 'uint2', 'int1', 'float6_e2m3fn'] as const) {
    const host = randomTensor([4, 6], dtype, 11);
    const there = host.to('cuda:0');
    const views = [
      (x: Tensor) => x,
      (x: Tensor) => x.transpose() as Tensor,
      (x: Tensor) => x.slice([1, 3], [1, 6, 2]) as Tensor,
      (x: Tensor) => x.slice(1, [1, 4]) as Tensor,
    ];
    for (const view of views) {
      equal(view(there).to('cpu').toArray(), view(host).toArray(), dtype);
      equal(view(host).to('cuda:0').to('cpu').toArray(), view(host).toArray(), dtype);
    }
    throws('UnsupportedDTypeError', "to('cpu')", () => there.transpose().copy());
  }
  // Into the middle of packed host memory, at an odd element, and in steps.
  const whole = Tensor.zeros([16], 'int4');
  const three = Tensor.from([1, 2, 3], { dtype: 'int4' }).to('cuda:0');
  whole.slice([2, 5]).copyFrom(three);
  whole.slice([7, 10]).copyFrom(three);
  whole.slice([11, 16, 2]).copyFrom(three);
  equal(whole.toArray(), [0, 0, 1, 2, 3, 0, 0, 1, 2, 3, 0, 1, 0, 2, 0, 3]);
  const odd = Tensor.from([1, 2, 3], { dtype: 'int4' });
  equal(odd.to('cuda:0').copy().to('cpu').toArray(), [1, 2, 3]);
});

cudaTest('a copy keeps the elements that share the last byte of packed elements', () => {
  for (const [dtype, size, count] of [
    ['uint4', 4, 3],
    ['uint4', 8, 5],
    ['uint4', 2, 1],
    ['uint2', 8, 7],
    ['uint1', 24, 13],
    ['float6_e2m3fn', 4, 3],
    ['float6_e2m3fn', 8, 5],
    ['uint4x3', 4, 3],
  ] as [DType, number, number][]) {
    const source = randomTensor([count], dtype, 3);
    const start = randomTensor([size], dtype, 4);
    const expected = start.copy();
    expected.slice([0, count]).copyFrom(source);
    const want = expected.toArray();
    const there = source.to('cuda:0');
    const other = source.to('cuda:1');
    const pinned = source.to('cuda_host');
    const sources = { host: source, wrapped: Tensor.wrap(source.unsafeData(), { dtype, shape: [count] }), pinned };
    for (const [name, from] of Object.entries({ ...sources, there, other })) {
      const target = start.to('cuda:0');
      target.slice([0, count]).copyFrom(from);
      equal(target.to('cpu').toArray(), want, `${dtype} of ${name} into device memory`);
    }
    for (const place of ['cpu', 'cuda_host'] as const) {
      const target = place === 'cpu' ? start.copy() : start.to(place);
      target.slice([0, count]).copyFrom(there);
      equal(target.toArray(), want, `${dtype} of a device into '${place}'`);
    }
  }
  // In the middle of the memory, where the first elements start on a byte.
  const target = Tensor.from([1, 2, 3, 4, 5, 6, 7, 8], { dtype: 'uint4' }).to('cuda:0');
  target.slice([2, 5]).copyFrom(Tensor.from([9, 10, 11], { dtype: 'uint4' }));
  equal(target.to('cpu').toArray(), [1, 2, 9, 10, 11, 6, 7, 8]);
  // At an odd element there is no copy to a device, and nothing has changed.
  throws('UnsupportedDTypeError', "to('cpu')", () => target.slice([1, 4]).copyFrom(target.slice([4, 7])));
  equal(target.to('cpu').toArray(), [1, 2, 9, 10, 11, 6, 7, 8]);
});

cudaTest('padded elements are copied as they are, and between packed and padded memory', async () => {
  fake.configure({ queriesRun: true });
  for (const dtype of ['uint4', 'uint1', 'float6_e2m3fn', 'uint4x3'] as const) {
    const packed = randomTensor([7], dtype, 5);
    const padded = Tensor.empty([7], dtype, { padded: true });
    padded.copyFrom(packed);
    const want = packed.toArray();
    const sources = [packed, padded];
    for (const from of [...sources, ...sources.map((x) => x.to('cuda:0')), ...sources.map((x) => x.to('cuda:1'))]) {
      for (const isPadded of [true, false]) {
        for (const device of ['cpu', 'cuda:0', 'cuda_host'] as const) {
          const target = Tensor.zeros([7], dtype, { device, padded: isPadded });
          target.copyFrom(from);
          equal(target.to('cpu').toArray(), want, `${dtype} from '${from.device}' to '${device}'`);
        }
      }
    }
    const there = padded.to('cuda:0');
    const second = (x: Tensor) => x.slice([1, 7, 2]);
    equal(second(there).copy().to('cpu').toArray(), second(packed).toArray());
    equal((await second(there).toAsync('cpu')).toArray(), second(packed).toArray());
    second(there).copyFrom(second(packed).flip());
    second(packed).copyFrom(second(packed).flip());
    equal(there.to('cpu').toArray(), packed.toArray());
    const filled = Tensor.zeros([4], dtype, { device: 'cuda:0', padded: true });
    const one = dtype === 'uint4x3' ? [1, 1, 1] : 1;
    filled.slice([1, 4]).fill(one as number);
    equal(filled.to('cpu').slice([1, 4]).toArray(), [one, one, one]);
  }
});

cudaTest('a new copy of packed elements on a device does not wait for the host', () => {
  const there = Tensor.from([1, 2, 3], { dtype: 'int4' }).to('cuda:0');
  const before = fake.calls('cuStreamSynchronize');
  const copy = there.copy();
  equal(fake.calls('cuStreamSynchronize'), before);
  equal(copy.to('cpu').toArray(), [1, 2, 3]);
});

cudaTest(
  'the bits after the last packed element are zero in new device memory, which is released if clearing fails',
  () => {
    for (const device of ['cuda:0', 'cuda_host'] as const) {
      Tensor.empty([3], 'uint8', { device }).fill(255).dispose();
      using packed = Tensor.empty([5], 'uint4', { device });
      using back = packed.to('cpu');
      equal(bytesOf(back)[2], 0, device);
      if (device === 'cuda:0') equal(bytesOf(back)[0], 255, 'only the last byte is cleared');
    }
    const { poolBytes } = fake.live();
    fake.failNext('cuMemsetD8Async', 700);
    throwsCuda('CUDA_ERROR_ILLEGAL_ADDRESS', () => Tensor.empty([5], 'uint4', { device: 'cuda:0' }));
    equal(fake.live().poolBytes, poolBytes);
  },
);

cudaTest('one value for many elements: only one element is copied', () => {
  const before = fake.calls('cuMemcpyAsync');
  const x = Tensor.empty([100, 100], 'float64', { device: 'cuda:0' });
  x.fill(3);
  x.copyFrom(Tensor.from([[4.5]]).broadcastTo([100, 100]));
  equal(fake.calls('cuMemcpyAsync') - before, 2);
  equal(x.to('cpu').get(99, 99), 4.5);
});

cudaTest('asynchronous copies between every pair of devices', async () => {
  fake.configure({ queriesRun: true });
  const host = randomTensor([5, 6, 9], 'float32', 5);
  const want = bytesOf(host.transpose());
  const wrapped = Tensor.wrap(
    Float32Array.from({ length: 270 }, (_, i) => i),
    { shape: [5, 6, 9] },
  );
  for (const source of [host, wrapped, host.to('cuda_host')]) {
    const there = await source.transpose().toAsync('cuda:0');
    equal(bytesOf(await there.toAsync('cpu')), bytesOf(source.transpose()));
    equal(bytesOf(await there.transpose().toAsync('cpu')), bytesOf(source));
    equal(bytesOf(await there.transpose().toAsync('cuda_host')), bytesOf(source));
    equal(bytesOf(await (await there.toAsync('cuda:1')).toAsync('cpu')), bytesOf(source.transpose()));
  }
  const there = host.to('cuda:0');
  const copying = there.transpose().copyAsync();
  there.dispose();
  equal(bytesOf((await copying).to('cpu')), want);
  equal((await Tensor.empty([0], 'int8').toAsync('cuda:0')).device, 'cuda:0');
  const packed = Tensor.from(
    [
      [1, 2, 3],
      [4, 5, 6],
    ],
    { dtype: 'int4' },
  );
  const away = await packed.toAsync('cuda:0');
  equal((await away.transpose().toAsync('cpu')).toArray(), packed.transpose().toArray());
});

cudaTest('elements below a byte, packed and padded: every copy between them has the same elements', async () => {
  const values = [1, -2, 3, -4, 5, -6, 7];
  const make = (padded: boolean, device: 'cpu' | 'cuda:0') =>
    Tensor.zeros([7], 'int4', { padded, device }).copyFrom(Tensor.from(values, { dtype: 'int4' }));
  const places = [true, false].flatMap((padded) => (['cpu', 'cuda:0'] as const).map((device) => ({ padded, device })));
  for (const from of places) {
    for (const to of places) {
      const name = JSON.stringify({ from, to });
      const source = make(from.padded, from.device);
      const whole = Tensor.zeros([20], 'int4', to).fill(-1);
      whole.slice([4, 11]).copyFrom(source);
      const expected = [...new Array(4).fill(-1), ...values, ...new Array(9).fill(-1)];
      equal(whole.to('cpu').toArray(), expected, name);
      equal((await whole.slice([4, 11]).toAsync('cpu')).toArray(), values, name);
    }
  }
  const rows = make(true, 'cuda:0').slice([null, null, 3]);
  equal(rows.contiguous().to('cpu').toArray(), [1, -4, 7]);
});
