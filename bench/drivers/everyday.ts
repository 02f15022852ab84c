/**
 * Everyday operations of this package: prints nanoseconds for each sample as JSON. The names match everyday.py. Runs on
 * every runtime.
 */

import { Tensor } from 'dlpack';
import { sample } from '../measure.js';

const nestedSmall = [
  [1, 2, 3],
  [4, 5, 6],
];
const small = Tensor.from(nestedSmall, { dtype: 'float32' });
const million = Tensor.from(
  Float32Array.from({ length: 1_000_000 }, (_, i) => i),
  { shape: [1000, 1000] },
);
const bits = million.astype('bfloat16');
const large = Tensor.zeros([16 * 2 ** 20], 'float32').fill(1);
const nestedMillion = million.toArray() as number[][];
const values = Tensor.from(Float64Array.from({ length: 1000 }, (_, i) => i));
let sink: unknown;

type Row = readonly [count: number, run: () => void];

const rows: Record<string, Row> = {
  'empty, 6 elements': [100_000, () => Tensor.empty([2, 3], 'float32').dispose()],
  'zeros, 6 elements': [100_000, () => Tensor.zeros([2, 3], 'float32').dispose()],
  'from nested arrays, 6 elements': [50_000, () => Tensor.from(nestedSmall, { dtype: 'float32' }).dispose()],
  'copy, 6 elements': [100_000, () => small.copy().dispose()],
  "astype('float64'), 6 elements": [100_000, () => small.astype('float64').dispose()],
  transpose: [100_000, () => small.transpose().dispose()],
  slice: [100_000, () => small.slice([0, 1], [1, 3]).dispose()],
  reshape: [100_000, () => small.reshape([3, 2]).dispose()],
  broadcast: [20_000, () => small.broadcastTo([4, 2, 3]).dispose()],
  get: [
    100_000,
    () => {
      sink = small.get(1, 2);
    },
  ],
  set: [100_000, () => small.set(1, 2, 7)],
  'to nested arrays, 6 elements': [
    100_000,
    () => {
      sink = small.toArray();
    },
  ],
  'iterate over 1000 numbers': [
    1000,
    () => {
      for (const value of values.data) sink = value;
    },
  ],
  'the memory of an array, again': [
    100_000,
    () => {
      sink = small.data;
    },
  ],
  'text of 6 elements': [
    1000,
    () => {
      sink = String(small);
    },
  ],
  'empty, 1 M elements': [20_000, () => Tensor.empty([1000, 1000], 'float32').dispose()],
  'zeros, 1 M elements': [2000, () => Tensor.zeros([1000, 1000], 'float32').dispose()],
  'from nested arrays, 1 M elements': [2, () => Tensor.from(nestedMillion, { dtype: 'float32' }).dispose()],
  'to nested arrays, 1 M elements': [
    2,
    () => {
      sink = million.toArray();
    },
  ],
  'copy, 1 M elements': [100, () => million.copy().dispose()],
  'copy of the transpose, 1 M elements': [20, () => million.transpose().contiguous().dispose()],
  "astype('float64'), 1 M elements": [50, () => million.astype('float64').dispose()],
  "astype('int32'), 1 M elements": [50, () => million.astype('int32').dispose()],
  "astype('float16'), 1 M elements": [20, () => million.astype('float16').dispose()],
  'bfloat16 to float32, 1 M elements': [50, () => bits.astype('float32').dispose()],
  'fill, 1 M elements': [50, () => void million.fill(1)],
  'empty, 64 MiB': [10_000, () => Tensor.empty(large.shape, 'float32').dispose()],
  'zeros, 64 MiB': [1000, () => Tensor.zeros(large.shape, 'float32').dispose()],
  'copy, 64 MiB': [4, () => large.copy().dispose()],
  "astype('float64'), 64 MiB": [2, () => large.astype('float64').dispose()],
  'fill, 64 MiB': [4, () => void large.fill(1)],
  // These two have no counterpart in NumPy. The second measures the runtime itself.
  'the first .data of a tensor': [
    2000,
    () => {
      const tensor = Tensor.empty([2, 3], 'float32');
      sink = tensor.data;
      tensor.dispose();
    },
  ],
};

const times: Record<string, number[]> = {};
for (const [name, [count, run]] of Object.entries(rows)) {
  const batch = (n: number): void => {
    for (let i = 0; i < n; i++) run();
  };
  batch(Math.min(count * 3, 30_000));
  times[name] = sample(batch, count, Number(process.argv[2]));
}
console.log(JSON.stringify({ times }));
void sink;
