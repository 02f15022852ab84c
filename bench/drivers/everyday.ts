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

const rows: Record<string, () => void> = {
  'empty, 6 elements': () => Tensor.empty([2, 3], 'float32').dispose(),
  'zeros, 6 elements': () => Tensor.zeros([2, 3], 'float32').dispose(),
  'from nested arrays, 6 elements': () => Tensor.from(nestedSmall, { dtype: 'float32' }).dispose(),
  'copy, 6 elements': () => small.copy().dispose(),
  "astype('float64'), 6 elements": () => small.astype('float64').dispose(),
  transpose: () => small.transpose().dispose(),
  slice: () => small.slice([0, 1], [1, 3]).dispose(),
  reshape: () => small.reshape([3, 2]).dispose(),
  broadcast: () => small.broadcastTo([4, 2, 3]).dispose(),
  get: () => {
    sink = small.get(1, 2);
  },
  set: () => small.set(1, 2, 7),
  'to nested arrays, 6 elements': () => {
    sink = small.toArray();
  },
  'iterate over 1000 numbers': () => {
    for (const value of values.data) sink = value;
  },
  'the memory of an array, again': () => {
    sink = small.data;
  },
  'text of 6 elements': () => {
    sink = String(small);
  },
  'empty, 1 M elements': () => Tensor.empty([1000, 1000], 'float32').dispose(),
  'zeros, 1 M elements': () => Tensor.zeros([1000, 1000], 'float32').dispose(),
  'from nested arrays, 1 M elements': () => Tensor.from(nestedMillion, { dtype: 'float32' }).dispose(),
  'to nested arrays, 1 M elements': () => {
    sink = million.toArray();
  },
  'copy, 1 M elements': () => million.copy().dispose(),
  'copy of the transpose, 1 M elements': () => million.transpose().contiguous().dispose(),
  "astype('float64'), 1 M elements": () => million.astype('float64').dispose(),
  "astype('int32'), 1 M elements": () => million.astype('int32').dispose(),
  "astype('float16'), 1 M elements": () => million.astype('float16').dispose(),
  'bfloat16 to float32, 1 M elements': () => bits.astype('float32').dispose(),
  'fill, 1 M elements': () => void million.fill(1),
  'empty, 64 MiB': () => Tensor.empty(large.shape, 'float32').dispose(),
  'zeros, 64 MiB': () => Tensor.zeros(large.shape, 'float32').dispose(),
  'copy, 64 MiB': () => large.copy().dispose(),
  "astype('float64'), 64 MiB": () => large.astype('float64').dispose(),
  'fill, 64 MiB': () => void large.fill(1),
  // These two have no counterpart in NumPy. The second measures the runtime itself.
  'the first .data of a tensor': () => {
    const tensor = Tensor.empty([2, 3], 'float32');
    sink = tensor.data;
    tensor.dispose();
  },
};

/** Runs each row for about this time, after a warm-up of a third of it. */
const ROW_MS = 60;
const SAMPLES = 7;
const [, , only = ''] = process.argv;

const times: Record<string, number[]> = {};
for (const [name, run] of Object.entries(rows)) {
  if (!name.includes(only)) continue;
  const batch = (n: number): void => {
    for (let i = 0; i < n; i++) run();
  };
  const start = performance.now();
  let count = 0;
  for (let n = 1; performance.now() - start < ROW_MS; n *= 2) {
    batch(n);
    count += n;
  }
  const each = (performance.now() - start) / count;
  times[name] = sample(batch, Math.max(1, Math.round(ROW_MS / SAMPLES / each)), SAMPLES);
}
console.log(JSON.stringify({ times }));
void sink;
