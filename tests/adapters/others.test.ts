/** Every `fromX` with the objects of every other library: a typed error that names both, or the right elements. */

import { isDLPackError, Tensor } from 'dlpack';
import * as adapters from 'dlpack/adapters';
import { equal, ok, throws } from '../assert.js';
import { testWith } from '../harness.js';
import { load, missing } from './libraries.js';
import { loadPeers } from './peers.js';

type From = (value: object, options?: object) => Tensor | Promise<Tensor>;

const libraries = [
  'onnxruntime-node',
  '@huggingface/transformers',
  '@tensorflow/tfjs-backend-wasm',
  '@jax-js/jax',
  'ndarray',
  '@stdlib/ndarray-ctor',
  'apache-arrow',
  'sharp',
  'numpy-ts',
  '@techstark/opencv-js',
  '@duckdb/node-api',
  '@mediapipe/tasks-vision',
];
const absent = libraries.map(missing).find((name) => name !== false) ?? false;

/** Objects of browsers, and of libraries that need one, with the properties that the adapters use. */
const standIns: Record<string, object> = {
  AudioBuffer: { numberOfChannels: 1, length: 6, sampleRate: 8000, getChannelData: () => new Float32Array(6) },
  ImageData: { data: new Uint8ClampedArray(24), width: 3, height: 2, colorSpace: 'srgb' },
  LiteRT: {
    type: { dtype: 'uint8', layout: { dimensions: new Int32Array([2, 3]) } },
    accelerator: 'wasm',
    toTypedArray: () => new Uint8Array(6),
    toGpuBuffer() {},
    delete() {},
  },
  MLTensor: { dataType: 'uint8', shape: [2, 3], destroy() {} },
  Tvmjs: { shape: [2, 3], dtype: 'uint8', toRawBytes: () => new Uint8Array(6), copyFromRawBytes() {} },
  VideoFrame: { visibleRect: { width: 3, height: 2 }, allocationSize: () => 24, copyTo: async () => {} },
};

/** Pairs that work, because an object has all properties of the other library's objects. */
const works = ['fromNdarray of zarrita chunk', 'fromOnnxRuntime of transformers.js', 'fromZarrita of ndarray (scijs)'];

testWith(absent, 'every fromX of every other library works or throws a typed error that names both', async () => {
  const functions = Object.entries(adapters).filter(([name]) => /^from[A-Z]/.test(name)) as never as [string, From][];
  const context = { readTensor: async () => new ArrayBuffer(6) };
  const seen = new Set<string>();
  let pairs = 0;
  const check = async (name: string, from: From, library: string, object: object): Promise<void> => {
    const pair = `${name} of ${library}`;
    pairs++;
    try {
      const tensor = await from(object, name === 'fromMLTensor' ? { context } : undefined);
      seen.add(pair);
      equal(
        tensor.toArray(),
        [
          [1, 2, 3],
          [4, 5, 6],
        ],
        pair,
      );
      tensor.dispose();
    } catch (error) {
      ok(isDLPackError(error, 'TypeError'), `${pair}: ${String(error)}`);
      ok(
        error.argument === 'value' && /^Expected an? .* for value but received /.test(error.message),
        `${pair}: ${error.message}`,
      );
    }
  };
  for (const peer of await loadPeers()) {
    await peer.use?.();
    const dtype = /sharp/.test(peer.name) ? 'uint8' : 'float32';
    const data = dtype === 'uint8' ? Uint8Array.of(1, 2, 3, 4, 5, 6) : Float32Array.of(1, 2, 3, 4, 5, 6);
    for (const [name, from] of functions) {
      if ((peer.from as unknown) === from) continue;
      await check(name, from, peer.name, await peer.make(data, dtype));
    }
  }
  for (const [library, object] of Object.entries(standIns)) {
    for (const [name, from] of functions) if (name !== `from${library}`) await check(name, from, library, object);
  }
  for (const [name, from] of functions) await check(name, from, 'dlpack', Tensor.from([1, 2], { dtype: 'float32' }));
  equal([...seen].sort(), works);
  ok(pairs > 250, `${pairs} pairs`);
});

testWith(missing('ndarray'), 'fromZarrita of an ndarray reads from its offset', () => {
  const ndarray = load<(data: object, shape: number[], stride: number[], offset: number) => never>('ndarray');
  equal(adapters.fromZarrita(ndarray(Float32Array.of(9, 9, 1, 2), [2], [1], 2)).toArray(), [1, 2]);
});

testWith(missing('apache-arrow'), 'objects with some of the properties that an adapter uses: a typed error', () => {
  const arrow = load<{ makeData(properties: object): object; Int32: new () => object }>('apache-arrow');
  const refused: readonly (readonly [From, object, string])[] = [
    // Vectors consist of such objects, which have the same counts.
    [adapters.fromArrow as never, arrow.makeData({ type: new arrow.Int32(), data: Int32Array.of(1) }), 'Arrow Vector'],
    [adapters.fromArrow as never, { data: null, nullCount: 0 }, 'Arrow Vector'],
    [adapters.fromNdarray as never, { shape: [1], stride: [1], offset: 0 }, 'ndarray'],
    [adapters.fromZarrita as never, { data: null, shape: [1], stride: [1] }, 'zarrita'],
    [adapters.fromStdlib as never, { data: Float32Array.of(1), shape: [1], strides: [1], offset: 0 }, 'stdlib'],
    [adapters.fromSharp as never, { data: Uint8Array.of(1), info: null }, 'sharp'],
  ];
  for (const [from, object, text] of refused) throws('TypeError', text, () => from(object));
});
