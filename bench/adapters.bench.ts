/**
 * Adapters: what each costs beside the library's own construction of the same object, in one run.
 *
 *   npm run bench -- adapters
 */

import { writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { cpus } from 'node:os';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { Tensor } from 'dlpack';
import * as adapters from 'dlpack/adapters';
import { sample, summarise } from './measure.js';

const root = fileURLToPath(new URL('../../', import.meta.url));
const require = createRequire(`${root}.libraries/package.json`);
const ROUNDS = 15;
const COUNT = 2000;

// biome-ignore lint/suspicious/noExplicitAny: each library has types of its own
type Library = any;
const ort: Library = require('onnxruntime-node');
const transformers: Library = await import(
  pathToFileURL(`${root}.libraries/node_modules/@huggingface/transformers/dist/transformers.node.mjs`).href
);
const tf: Library = require('@tensorflow/tfjs-core');
tf.enableProdMode();
require('@tensorflow/tfjs-backend-cpu');
await tf.setBackend('cpu');
const ndarray: Library = require('ndarray');
const stdlib: Library = require('@stdlib/ndarray-ctor');
const arrow: Library = require('apache-arrow');
const sharp: Library = require('sharp');

const x = Tensor.from([1, 2, 3, 4, 5, 6], { dtype: 'float32' }).reshape([2, 3]);
const column = x.reshape([6]);
const pixels = Tensor.zeros([1, 2, 3], 'uint8');
const array = new Float32Array(6);
const bytes = new Uint8Array(6);
const shape = [2, 3];

let sink: unknown;
const repeat = (action: () => unknown) => (n: number) => {
  for (let i = 0; i < n; i++) sink = action();
};
const disposed = (action: () => { dispose(): void }) => (n: number) => {
  for (let i = 0; i < n; i++) action().dispose();
};

interface Row {
  /** What the library itself does. */
  readonly own: (n: number) => void;
  readonly adapter: (n: number) => void;
}

const objects = {
  ort: new ort.Tensor('float32', array, shape),
  transformers: new transformers.Tensor('float32', array, shape),
  tf: tf.tensor(array, shape),
  ndarray: ndarray(array, shape),
  stdlib: new stdlib('float32', array, shape, [3, 1], 0, 'row-major'),
  arrow: arrow.makeVector(array),
  zarrita: { data: array, shape, stride: [3, 1] },
  sharp: { data: bytes, info: { width: 2, height: 1, channels: 3 } },
};
const plain = (input: object, options: object) => ({ input, options });

const rows: Record<string, Row> = {
  'fromOnnxRuntime, dispose': {
    own: repeat(() => objects.ort.data),
    adapter: disposed(() => adapters.fromOnnxRuntime(objects.ort)),
  },
  toOnnxRuntime: {
    own: repeat(() => new ort.Tensor('float32', array, shape)),
    adapter: repeat(() => adapters.toOnnxRuntime(x, ort)),
  },
  'fromTransformers, dispose': {
    own: repeat(() => objects.transformers.ort_tensor.data),
    adapter: disposed(() => adapters.fromTransformers(objects.transformers)),
  },
  toTransformers: {
    own: repeat(() => new transformers.Tensor('float32', array, shape)),
    adapter: repeat(() => adapters.toTransformers(x, transformers)),
  },
  'fromTensorFlow, dispose': {
    own: repeat(() => objects.tf.dataSync()),
    adapter: disposed(() => adapters.fromTensorFlow(objects.tf)),
  },
  'toTensorFlow, dispose': {
    own: disposed(() => tf.tensor(array, shape, 'float32')),
    adapter: disposed(() => adapters.toTensorFlow(x, tf) as { dispose(): void }),
  },
  'fromNdarray, dispose': {
    own: repeat(() => objects.ndarray.data),
    adapter: disposed(() => adapters.fromNdarray(objects.ndarray)),
  },
  toNdarray: {
    own: repeat(() => ndarray(array, [2, 3], [3, 1], 0)),
    adapter: repeat(() => adapters.toNdarray(x, ndarray)),
  },
  'fromStdlib, dispose': {
    own: repeat(() => objects.stdlib.data),
    adapter: disposed(() => adapters.fromStdlib(objects.stdlib)),
  },
  toStdlib: {
    own: repeat(() => new stdlib('float32', array, [2, 3], [3, 1], 0, 'row-major')),
    adapter: repeat(() => adapters.toStdlib(x, stdlib)),
  },
  'fromArrow, dispose': {
    own: repeat(() => objects.arrow.data[0].values),
    adapter: disposed(() => adapters.fromArrow(objects.arrow)),
  },
  toArrow: {
    own: repeat(() => new arrow.Vector([arrow.makeData({ type: new arrow.Float32(), data: array })])),
    adapter: repeat(() => adapters.toArrow(column, arrow)),
  },
  'fromZarrita, dispose': {
    own: repeat(() => objects.zarrita.data),
    adapter: disposed(() => adapters.fromZarrita(objects.zarrita)),
  },
  toZarrita: {
    own: repeat(() => ({ data: array, shape: [2, 3], stride: [3, 1] })),
    adapter: repeat(() => adapters.toZarrita(x)),
  },
  'fromSharp, dispose': {
    own: repeat(() => objects.sharp.data),
    adapter: disposed(() => adapters.fromSharp(objects.sharp)),
  },
  toSharp: {
    own: repeat(() => sharp(bytes, { raw: { width: 2, height: 1, channels: 3 } })),
    adapter: repeat(() => adapters.toSharp(pixels, sharp)),
  },
  'toSharp, without the pipeline': {
    own: repeat(() => plain(bytes, { raw: { width: 2, height: 1, channels: 3 } })),
    adapter: repeat(() => adapters.toSharp(pixels, plain)),
  },
  'adapt(ort.Tensor), dispose': {
    own: repeat(() => objects.ort.data),
    adapter: disposed(() => adapters.adapt(objects.ort)),
  },
};

const lines = Object.entries(rows).map(([name, { own, adapter }]) => {
  const times: Record<'own' | 'adapter', number[]> = { own: [], adapter: [] };
  for (let round = 0; round < ROUNDS; round++) {
    times.own.push(...sample(own, COUNT, 3));
    times.adapter.push(...sample(adapter, COUNT, 3));
  }
  const [library, ours] = [summarise(times.own), summarise(times.adapter)];
  const numbers = [library.min, ours.min, ours.min - library.min, library.median, ours.median];
  return `| ${[name, ...numbers.map((value) => value.toFixed(0))].join(' | ')} |`;
});
void sink;

const text = `# Adapters

Date ${new Date().toISOString().slice(0, 10)}; \`npm run bench -- adapters\`; ${cpus()[0]?.model.trim()}, ${cpus().length} cores; Node ${process.versions.node}.

Nanoseconds for one object with six elements, the least and the median of ${ROUNDS * 3} samples in which the library and the adapter
took turns. *The library* is what the adapter's caller would write by hand: the library's own construction, or reading its array.
The target is at most 500 ns more. The least values are compared, because other programs ran on the machine, and medians contain
their share and that of the garbage collector. A pipeline of sharp takes tens of microseconds on a busy machine and varies by more
than the adapter's part, so one row measures that part with a constructor that does nothing.

| operation | library, least | adapter, least | more | library, median | adapter, median |
|---|---|---|---|---|---|
${lines.join('\n')}
`;
console.log(text);
writeFileSync(`${root}bench/results/adapters.md`, text);
