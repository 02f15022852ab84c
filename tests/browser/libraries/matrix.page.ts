/**
 * Every library that needs a browser, with every dtype in both directions. Each line `ROW ...` is a row of
 * docs/compatibility.md, which `tests/browser/libraries.test.ts` compares with the page.
 */

import { type DType, isDLPackError, Tensor } from 'dlpack';
import * as adapters from 'dlpack/adapters';
import { gpuMemoryOf } from 'dlpack/webgpu';
import { dtypes, type Found, oneOf, type Verdict } from '../../adapters/matrix-row.js';
import { equal } from '../../assert.js';
import { test } from '../../harness.js';
import { uncaptured } from '../../webgpu/device.js';
import { loadLibraries } from './load.js';

// biome-ignore lint/suspicious/noExplicitAny: each library has types of its own, and a test of values needs none
type Library = any;

const from = (path: string): Promise<Library> => import(path);
const { jax, tf, ort, device } = (await loadLibraries()) as Library;
const transformers: Library = await from('@huggingface/transformers');
const litert: Library = await from('/build/browser/litert.js');
await litert.loadLiteRt('/.libraries/node_modules/@litertjs/core/wasm/');
litert.setWebGpuDevice(device);
const { tgpu, d } = await from('/build/browser/typegpu.js');
const root = tgpu.initFromDevice({ device });
const gpuDevice = device;
/** The schemas of TypeGPU. */
const schemas: Partial<Record<DType, string>> = { float32: 'f32', float16: 'f16', int32: 'i32', uint32: 'u32' };

/** One row: how an object is made of a tensor's memory, exchanged, and compared with the memory. */
interface Peer {
  readonly name: string;
  readonly library?: string;
  readonly shape: readonly number[];
  readonly device?: object;
  readonly why?: string;
  /** An object of the library with the elements of a tensor, made without the adapter. Throws where there is none. */
  make(x: Tensor): object | Promise<object>;
  from(object: Library): Tensor | Promise<Tensor>;
  to(x: Tensor): object;
  /** The first element as the library sees it, or its GPUBuffer. */
  read(object: Library): unknown;
  /** A part of a tensor is copied, because the library takes no offset. */
  readonly part?: string;
}

const bufferOf = (x: Tensor) => gpuMemoryOf(x).buffer;
const first = (values: ArrayLike<unknown>) => Number(values[0]);

const onnxLike = (
  fromX: (object: Library, options: object) => Tensor,
  toX: (x: Tensor, module: Library, options: object) => object,
  module: Library,
  wrap: (tensor: object) => object,
  inner: (object: Library) => Library,
) => ({
  shape: [2, 8],
  device,
  make: (x: Tensor) => wrap(ort.Tensor.fromGpuBuffer(bufferOf(x), { dataType: x.dtype, dims: [...x.shape] })),
  from: (object: Library) => fromX(object, { gpuDevice }),
  to: (x: Tensor) => toX(x, module, { gpuDevice }),
  read: (object: Library) => inner(object).gpuBuffer,
  part: 'no library takes an offset',
});

const peers: readonly Peer[] = [
  {
    name: 'ONNX Runtime (web), WebGPU',
    library: 'onnxruntime-web',
    ...onnxLike(
      adapters.fromOnnxRuntime,
      adapters.toOnnxRuntime,
      ort,
      (tensor) => tensor,
      (object) => object,
    ),
  },
  {
    name: 'transformers.js, WebGPU',
    library: '@huggingface/transformers',
    ...onnxLike(
      adapters.fromTransformers,
      adapters.toTransformers,
      transformers,
      (tensor) => Object.assign(new transformers.Tensor('uint8', new Uint8Array(1), [1]), { ort_tensor: tensor }),
      (object) => object.ort_tensor,
    ),
  },
  {
    name: 'TensorFlow.js, WebGPU',
    library: '@tensorflow/tfjs-core',
    shape: [2, 8],
    device,
    make: async (x) => tf.tensor((await x.toAsync('cpu')).data, [...x.shape], x.dtype),
    from: (object) => adapters.fromTensorFlow(object, { backend: tf.backend() }),
    to: (x) => adapters.toTensorFlow(x, tf),
    read: async (object) => first(await tf.add(object, 0).data()),
    part: 'no library takes an offset',
  },
  {
    name: 'jax-js, WebGPU',
    library: '@jax-js/jax',
    shape: [2, 8],
    device,
    why: 'the library takes no buffers',
    make: async (x) => jax.numpy.array((await x.toAsync('cpu')).data, { shape: [...x.shape], dtype: x.dtype }),
    from: (object) => adapters.fromJaxJs(object, { gpuDevice }),
    to: (x) => adapters.toJaxJs(x, jax.numpy, { gpuDevice }) as object,
    read: async (object) => first(await object.ref.data()),
  },
  {
    name: 'LiteRT.js, WebGPU',
    library: '@litertjs/core',
    shape: [2, 8],
    device,
    make: (x) => new litert.Tensor(bufferOf(x), [...x.shape], x.dtype),
    from: (object) => adapters.fromLiteRT(object, { gpuDevice }),
    to: (x) => adapters.toLiteRT(x, litert, { gpuDevice }) as object,
    read: (object) => object.toGpuBuffer(),
    part: 'no library takes an offset',
  },
  {
    name: 'TypeGPU buffer',
    library: 'typegpu',
    shape: [2, 8],
    device,
    make: (x) => {
      const schema = schemas[x.dtype];
      if (schema === undefined) throw new Error('no such schema');
      return root.createBuffer(d.arrayOf(d.arrayOf(d[schema], 8), 2), bufferOf(x));
    },
    from: (object) => adapters.fromTypeGPU(object, { gpuDevice }),
    to: (x) => adapters.toTypeGPU(x, { root, d }),
    read: (object) => root.unwrap(object),
    part: 'no library takes an offset',
  },
  {
    name: 'LiteRT.js, WebAssembly',
    library: '@litertjs/core',
    shape: [2, 8],
    why: 'the library has its own memory',
    make: (x) => new litert.Tensor(x.data, [...x.shape]),
    from: (object) => adapters.fromLiteRT(object),
    to: (x) => adapters.toLiteRT(x, litert) as object,
    read: (object) => first(object.toTypedArray()),
  },
  {
    name: 'ImageData',
    shape: [1, 2, 4],
    make: (x) => {
      if (x.dtype !== 'uint8') throw new Error('bytes');
      return new (globalThis as Library).ImageData(new Uint8ClampedArray(x.data as Uint8Array), 2, 1);
    },
    from: (object) => adapters.fromImageData(object),
    to: (x) => adapters.toImageData(x, ImageData),
    read: (object) => first(object.data),
  },
  {
    name: 'VideoFrame',
    shape: [2, 2, 4],
    why: 'pixels are outside JavaScript',
    make: (x) => {
      if (x.dtype !== 'uint8') throw new Error('bytes');
      const options = { format: 'RGBA', codedWidth: 2, codedHeight: 2, timestamp: 0 };
      return new (globalThis as Library).VideoFrame(x.data, options);
    },
    from: (object) => adapters.fromVideoFrame(object),
    to: (x) => adapters.toVideoFrame(x, VideoFrame, { timestamp: 0 }),
    read: async (object) => {
      const bytes = new Uint8Array(object.allocationSize());
      await object.copyTo(bytes);
      return first(bytes);
    },
  },
  ...[1, 2].map((channels) => ({
    name: `AudioBuffer, ${channels === 1 ? 'one channel' : 'two channels'}`,
    shape: channels === 1 ? [16] : [2, 8],
    why: 'an array for each channel, which the class makes',
    make: (x: Tensor) => {
      if (x.dtype !== 'float32') throw new Error('samples are float32');
      return new (globalThis as Library).AudioBuffer({
        numberOfChannels: channels,
        length: 16 / channels,
        sampleRate: 48_000,
      });
    },
    from: (object: Library) => adapters.fromAudioBuffer(object, channels === 1 ? { channel: 0 } : {}),
    to: (x: Tensor) =>
      adapters.toAudioBuffer(x.reshape([channels, 16 / channels]), AudioBuffer, { sampleRate: 48_000 }),
    read: (object: Library) => first(object.getChannelData(0)),
  })),
];

/** `shared` when the library has the tensor's GPUBuffer, or reads what was written after the exchange. */
async function compare(x: Tensor, object: object, peer: Peer): Promise<Verdict> {
  const before = await peer.read(object);
  if (typeof before === 'object') return before === bufferOf(x) ? 'shared' : 'copied';
  x.fill(oneOf(x.dtype));
  return (await peer.read(object)) === 1 ? 'shared' : 'copied';
}

const start = (peer: Peer, dtype: DType): Tensor =>
  Tensor.zeros(peer.shape, dtype, peer.device === undefined ? {} : { device: peer.device as never });

const verdictOf = (error: unknown): Verdict => {
  if (isDLPackError(error)) return error.tag;
  throw error;
};

async function fromLibrary(peer: Peer, dtype: DType): Promise<Verdict> {
  const source = start(peer, dtype);
  let object: object;
  try {
    object = await peer.make(source);
  } catch {
    return '–';
  }
  try {
    const x = await peer.from(object);
    if (x.dtype !== dtype) return '–'; // the library treated the array as another dtype
    equal([x.shape, x.device === 'cpu'], [peer.shape, peer.device === undefined], `${peer.name} ${dtype}`);
    return await compare(x, object, peer);
  } catch (error) {
    return verdictOf(error);
  }
}

async function toLibrary(peer: Peer, x: Tensor): Promise<Verdict> {
  try {
    return await compare(x, peer.to(x), peer);
  } catch (error) {
    return verdictOf(error);
  }
}

for (const peer of peers) {
  test(peer.name, async () => {
    const [inward, outward]: [Found, Found] = [[], []];
    for (const dtype of dtypes) {
      inward.push([dtype, await fromLibrary(peer, dtype)]);
      outward.push([dtype, await toLibrary(peer, start(peer, dtype))]);
    }
    if (peer.part !== undefined) {
      const part = start(peer, 'float32').slice([1, 2]);
      outward.push(['float32 at an offset', await toLibrary(peer, part)]);
    }
    const { name, library, why, part } = peer;
    console.log(`ROW ${JSON.stringify({ name, library, inward, outward, why: why ?? part })}`);
  });
}

test('WebGPU reported no error', async () => {
  await device.queue.onSubmittedWorkDone();
  equal(uncaptured, []);
});
