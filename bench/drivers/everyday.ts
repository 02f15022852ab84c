/**
 * Everyday operations of this package: prints nanoseconds for each sample as JSON. The names match everyday.py. Runs on
 * every runtime.
 */

import { createRequire } from 'node:module';
import { Tensor } from 'dlpack';
import { sample } from '../measure.js';

const nestedSmall = [
  [1, 2, 3],
  [4, 5, 6],
];
const small = Tensor.from(nestedSmall, { dtype: 'float32' });
const million = Tensor.from(
  Float32Array.from({ length: 1_000_000 }, (_, i) => i % 2048),
  { shape: [1000, 1000] },
);
const bits = million.astype('bfloat16');
const image = Tensor.full([224, 224, 3], 124, 'uint8');
const normal = { scale: [1 / 58.4, 1 / 57.1, 1 / 57.4], offset: [-2.12, -2.04, -1.8], axis: 0 };
const large = Tensor.zeros([16 * 2 ** 20], 'float32').fill(1);
const array = new Float32Array([1, 2, 3, 4, 5, 6]);
const turned = small.transpose();
const part = Tensor.from(new Float32Array(12), { shape: [2, 6] }).slice(null, [0, 6, 2]);
const nestedMillion = million.toArray() as number[][];
const values = Tensor.from(Float64Array.from({ length: 1000 }, (_, i) => i));
const plain = Float64Array.from({ length: 1000 }, (_, i) => i);
/** tests/native/addon/peer.cc */
const peer = createRequire(import.meta.url)('../../native/peer.node') as {
  makeBuffer(): ArrayBuffer;
  detachBuffer(buffer: ArrayBuffer): void;
};
let sink: unknown;

const rows: Record<string, () => void> = {
  'empty, 6 elements': () => Tensor.empty([2, 3], 'float32').dispose(),
  'zeros, 6 elements': () => Tensor.zeros([2, 3], 'float32').dispose(),
  'from nested arrays, 6 elements': () => Tensor.from(nestedSmall, { dtype: 'float32' }).dispose(),
  'from a typed array, 6 elements': () => Tensor.from(array).dispose(),
  'copy, 6 elements': () => small.copy().dispose(),
  'copy of the transpose, 6 elements': () => turned.copy().dispose(),
  "astype('float64'), 6 elements": () => small.astype('float64').dispose(),
  "astype('float64') of a slice, 6 elements": () => part.astype('float64').dispose(),
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
    for (const value of values) sink = value;
  },
  'iterate over the .data of 1000 numbers': () => {
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
  'an image: (x / 255 - mean) / std, channels first': () =>
    image.transpose([2, 0, 1]).astype('float32', normal).dispose(),
  "astype('float64'), 64 MiB": () => large.astype('float64').dispose(),
  'fill, 64 MiB': () => void large.fill(1),
  // These have no counterpart in NumPy. Two of them measure the runtime itself.
  "iterate over 1000 numbers of the runtime's own Float64Array": () => {
    for (const value of plain) sink = value;
  },
  'the first .data of a tensor, with the tensor': () => {
    const tensor = Tensor.empty([2, 3], 'float32');
    sink = tensor.data;
    tensor.dispose();
  },
  'an external ArrayBuffer of another addon, detached': () => {
    const buffer = peer.makeBuffer();
    sink = new Float32Array(buffer);
    peer.detachBuffer(buffer);
  },
};

/** Each row runs for about this time, after a warm-up of the same time. */
const ROW_MS = 50;
const SAMPLES = 7;
const [, , only = ''] = process.argv;

const chosen = Object.entries(rows)
  .filter(([name]) => name.includes(only))
  .map(([name, run]) => ({
    name,
    batch: (n: number): void => {
      for (let i = 0; i < n; i++) run();
    },
  }));

// All rows warm up before the first is measured, so that the engine has seen every kind of tensor by then.
const each = chosen.map(({ batch }) => {
  const start = performance.now();
  const spent = (): number => performance.now() - start;
  let count = 0;
  // Engines compile after thousands of runs, for which a busy machine takes longer.
  for (let n = 1; spent() < ROW_MS || (count < 20_000 && spent() < 4 * ROW_MS && spent() / count < 0.01); n *= 2) {
    batch(n);
    count += n;
  }
  return spent() / count;
});
const times: Record<string, number[]> = {};
for (const [i, { name, batch }] of chosen.entries()) {
  // Otherwise garbage of an earlier row would count for this one. The collector drops compiled code that did not run for
  // a while, so the row warms up once more.
  (globalThis as { gc?: () => void }).gc?.();
  const n = Math.max(1, Math.round(ROW_MS / SAMPLES / (each[i] as number)));
  sample(batch, n, 3);
  times[name] = sample(batch, n, SAMPLES);
}
console.log(JSON.stringify({ times }));
void sink;
