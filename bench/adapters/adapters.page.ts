/** In a page: the adapters beside the libraries, and the adapters of objects that only a page has. */

import { Tensor } from 'dlpack';
import * as adapters from 'dlpack/adapters';
import { disposed, type Library, makeRows, measure, repeat } from './rows.js';

const load = (path: string): Promise<Library> => import(path);
const ort = await load('/.libraries/node_modules/onnxruntime-web/dist/ort.webgpu.bundle.min.mjs');
const transformers = await load('@huggingface/transformers');
const { tf, jax, ndarray, stdlib, arrow, litert } = await load('/build/browser/adapters.js');
tf.enableProdMode();
await tf.setBackend('cpu');
await jax.init('cpu');
jax.defaultDevice('cpu');
await litert.loadLiteRt('/.libraries/node_modules/@litertjs/core/wasm/');

const page = globalThis as never as Record<'ImageData' | 'AudioBuffer', Library>;
const pixels = Tensor.zeros([1, 2, 4], 'uint8');
const clamped = new Uint8ClampedArray(8);
const image = new page.ImageData(clamped, 2, 1);
const samples = Tensor.zeros([1, 6], 'float32');
const zeros = new Float32Array(6);
const settings = { numberOfChannels: 1, length: 6, sampleRate: 48_000 };
const audio = new page.AudioBuffer(settings);
const tensor = new litert.Tensor(zeros, [1, 6]);
/** A tensor and a class that do nothing, because calls into LiteRT.js vary by more than the adapter's part. */
const plainTensor = {
  type: { dtype: 'float32', layout: { dimensions: [1, 6] } },
  accelerator: 'wasm',
  toTypedArray: () => zeros,
  toGpuBuffer: () => null,
  delete() {},
};
class PlainTensor {
  readonly data: unknown;
  readonly shape: unknown;
  constructor(data: unknown, shape: unknown) {
    this.data = data;
    this.shape = shape;
  }
}
const deleted = (action: () => { delete(): void }) => (n: number) => {
  for (let i = 0; i < n; i++) action().delete();
};

const rows = {
  ...makeRows({ ort, transformers, tf, jax, ndarray, stdlib, arrow }),
  'fromLiteRT, dispose': {
    own: repeat(() => tensor.toTypedArray()),
    adapter: disposed(() => adapters.fromLiteRT(tensor)),
  },
  'toLiteRT, delete': {
    own: deleted(() => new litert.Tensor(zeros, [1, 6])),
    adapter: deleted(() => adapters.toLiteRT(samples, litert) as { delete(): void }),
  },
  'fromLiteRT, without the library': {
    own: repeat(() => plainTensor.toTypedArray()),
    adapter: disposed(() => adapters.fromLiteRT(plainTensor)),
  },
  'toLiteRT, without the library': {
    own: repeat(() => new PlainTensor(zeros, [1, 6])),
    adapter: repeat(() => adapters.toLiteRT(samples, { Tensor: PlainTensor })),
  },
  'fromImageData, dispose': {
    own: repeat(() => image.data),
    adapter: disposed(() => adapters.fromImageData(image)),
  },
  toImageData: {
    own: repeat(() => new page.ImageData(new Uint8ClampedArray(clamped.buffer, 0, 8), 2, 1)),
    adapter: repeat(() => adapters.toImageData(pixels, ImageData)),
  },
  'fromAudioBuffer, dispose': {
    own: repeat(() => audio.getChannelData(0)),
    adapter: disposed(() => adapters.fromAudioBuffer(audio)),
  },
  toAudioBuffer: {
    own: repeat(() => {
      const made = new page.AudioBuffer(settings);
      made.getChannelData(0).set(zeros);
      return made;
    }),
    adapter: repeat(() => adapters.toAudioBuffer(samples, AudioBuffer, { sampleRate: 48_000 })),
  },
};
console.log(`RESULT ${JSON.stringify({ times: measure(rows), agent: navigator.userAgent })}`);
