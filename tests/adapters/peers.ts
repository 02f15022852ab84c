/** The libraries of the matrix: how to make an object of each, read it, and exchange it. */

import { type DType, Tensor, type TypedArray } from 'dlpack';
import * as adapters from 'dlpack/adapters';
import { load, loadMediaPipe, loadModule, loadOpenCV, loadTensorFlow } from './libraries.js';

/** One library, or one backend of a library. */
export interface Peer {
  readonly name: string;
  /** The npm package whose version the page names. */
  readonly library: string;
  readonly shape: readonly number[];
  /** An object of the library with these elements. Throws where it has no such dtype. */
  make(data: TypedArray, dtype: DType): object | Promise<object>;
  /** The elements, read with the library's functions. */
  read(object: object): ArrayLike<number | bigint | boolean> | Promise<ArrayLike<number | bigint | boolean>>;
  from(object: never): Tensor;
  to(tensor: Tensor): object;
  /** Why elements are copied. */
  readonly why?: string;
}

// biome-ignore lint/suspicious/noExplicitAny: each library has types of its own, and a test of values needs none
type Library = any;

/** The depths of sharp's raw images. */
const depths: Partial<Record<DType, string>> = {
  int8: 'char',
  uint8: 'uchar',
  int16: 'short',
  uint16: 'ushort',
  int32: 'int',
  uint32: 'uint',
  float32: 'float',
  float64: 'double',
  complex64: 'complex',
};

/** The typed arrays of a Mat of OpenCV.js, in the order of its depths. */
const matArrays = ['data', 'data8S', 'data16U', 'data16S', 'data32S', 'data32F', 'data64F'];

const flat = (rows: unknown): number[] => [rows].flat(9) as number[];

/** The peers that run in Node, Bun and Deno. `use` makes the library's backend current. */
export async function loadPeers(): Promise<(Peer & { use?: () => Promise<unknown> })[]> {
  const ort: Library = load('onnxruntime-node');
  const transformers: Library = await loadModule('@huggingface/transformers/dist/transformers.node.mjs');
  const tf: Library = loadTensorFlow();
  const jax: Library = await loadModule('@jax-js/jax/dist/index.js');
  await jax.init('cpu');
  jax.defaultDevice('cpu');
  const ndarray: Library = load('ndarray');
  const stdlib: Library = load('@stdlib/ndarray-ctor');
  const arrow: Library = load('apache-arrow');
  const sharp: Library = load('sharp');
  const zarr: Library = await loadModule('zarrita/dist/src/index.js');
  const numpy: Library = await loadModule('numpy-ts/dist/esm/index.js');
  const { cv } = await loadOpenCV<Library>();
  const duckdb: Library = load('@duckdb/node-api');
  const vision = await loadMediaPipe<Library>();
  const rows = (data: TypedArray, dtype: DType): Tensor => Tensor.wrap(data, { dtype, shape: [2, 3] });
  /** The vector of the only chunk. */
  const toVector = (x: Tensor): object => (adapters.toDuckDB(x, duckdb)[0] as Library).getColumnVector(0);

  const tensorflow = {
    library: '@tensorflow/tfjs-core',
    shape: [2, 3],
    make: (data: TypedArray, dtype: DType) => {
      if (dtype !== 'complex64') return tf.tensor(data, [2, 3], dtype);
      const part = (at: number) =>
        tf.tensor(
          (data as Float32Array).filter((_, i) => i % 2 === at),
          [2, 3],
        );
      return tf.complex(part(0), part(1));
    },
    read: (object: Library) => object.dataSync(),
    from: adapters.fromTensorFlow,
    to: (x: Tensor) => adapters.toTensorFlow(x, tf as adapters.TensorFlowModule<object>),
  };
  return [
    {
      name: 'ONNX Runtime (node)',
      library: 'onnxruntime-node',
      shape: [2, 3],
      make: (data, dtype) => new ort.Tensor(dtype, data, [2, 3]),
      read: (object: Library) => flat(adapters.fromOnnxRuntime(object).toArray()),
      from: adapters.fromOnnxRuntime,
      to: (x) => adapters.toOnnxRuntime(x, ort as adapters.OnnxModule<object>),
    },
    {
      name: 'transformers.js',
      library: '@huggingface/transformers',
      shape: [2, 3],
      make: (data, dtype) => new transformers.Tensor(dtype, data, [2, 3]),
      read: (object: Library) => flat(adapters.fromTransformers(object).toArray()),
      from: adapters.fromTransformers,
      to: (x) => adapters.toTransformers(x, transformers as adapters.OnnxModule<object>),
    },
    {
      name: 'TensorFlow.js, CPU',
      use: () => tf.setBackend('cpu'),
      ...tensorflow,
      why: 'the library makes a new array of these',
    },
    {
      name: 'TensorFlow.js, WebAssembly',
      use: () => tf.setBackend('wasm'),
      ...tensorflow,
      why: 'the backend has its own memory',
    },
    {
      name: 'jax-js, CPU',
      library: '@jax-js/jax',
      shape: [2, 3],
      make: (data, dtype) => adapters.toJaxJs(rows(data, dtype), jax.numpy) as object,
      read: (object: Library) => object.ref.dataSync(),
      from: adapters.fromJaxJs,
      to: (x) => adapters.toJaxJs(x, jax.numpy as adapters.JaxModule<object>),
      why: 'the library has its own memory',
    },
    {
      name: 'ndarray (scijs)',
      library: 'ndarray',
      shape: [2, 3],
      make: (data) => ndarray(data, [2, 3]),
      read: (object: Library) => [0, 1, 2, 3, 4, 5].map((i) => object.get(Math.floor(i / 3), i % 3)),
      from: adapters.fromNdarray,
      to: (x) => adapters.toNdarray(x, ndarray) as object,
    },
    {
      name: '@stdlib/ndarray-ctor',
      library: '@stdlib/ndarray-ctor',
      shape: [2, 3],
      make: (data, dtype) => new stdlib(dtype, data, [2, 3], [3, 1], 0, 'row-major'),
      read: (object: Library) => [0, 1, 2, 3, 4, 5].map((i) => object.data[object.offset + i]),
      from: adapters.fromStdlib,
      to: (x) => adapters.toStdlib(x, stdlib) as object,
    },
    {
      name: 'Apache Arrow, vector',
      library: 'apache-arrow',
      shape: [6],
      make: (data, dtype) => {
        const type = new arrow[`${dtype.charAt(0).toUpperCase()}${dtype.slice(1)}`]();
        return new arrow.Vector([arrow.makeData({ type, data })]);
      },
      read: (object: Library) => object.data[0].values,
      from: adapters.fromArrow,
      to: (x) => adapters.toArrow(x, arrow) as object,
    },
    {
      name: 'Apache Arrow, fixed-size lists',
      library: 'apache-arrow',
      shape: [2, 3],
      make: (data, dtype) => {
        const type = new arrow[`${dtype.charAt(0).toUpperCase()}${dtype.slice(1)}`]();
        const list = new arrow.FixedSizeList(3, new arrow.Field('item', type));
        return new arrow.Vector([arrow.makeData({ type: list, length: 2, child: arrow.makeData({ type, data }) })]);
      },
      read: (object: Library) => object.data[0].children[0].values,
      from: adapters.fromArrow,
      to: (x) => adapters.toArrow(x, arrow) as object,
    },
    {
      name: 'zarrita chunk',
      library: 'zarrita',
      shape: [2, 3],
      make: (data, dtype) => ({
        data: dtype === 'bool' ? new zarr.BoolArray(data.buffer, data.byteOffset, data.length) : data,
        shape: [2, 3],
        stride: [3, 1],
      }),
      read: (object: Library) => object.data,
      from: adapters.fromZarrita,
      to: (x) => adapters.toZarrita(x),
    },
    {
      name: 'sharp, raw image',
      library: 'sharp',
      shape: [2, 1, 3],
      make: (data, dtype) => {
        const { buffer, byteOffset, byteLength } = data as Uint8Array;
        const depth = depths[dtype];
        if (depth === undefined) throw new Error('sharp has no such depth');
        const info = { width: 1, height: 2, channels: 3, depth };
        return { data: new Uint8Array(buffer, byteOffset, byteLength), info, elements: data };
      },
      read: async (object: Library) => {
        if (object.elements) return object.elements;
        // Pixels with more than 8 bits keep their values in this colour space.
        const { space, depth } = await object.metadata();
        if (space === 'rgb16') object.pipelineColourspace('rgb16').toColourspace('rgb16');
        return adapters.fromSharp(await object.raw({ depth }).toBuffer({ resolveWithObject: true })).data;
      },
      from: adapters.fromSharp,
      to: (x) => adapters.toSharp(x, sharp) as object,
    },
    {
      name: 'numpy-ts',
      library: 'numpy-ts',
      shape: [2, 3],
      make: (data, dtype) => adapters.toNumpyTs(rows(data, dtype), numpy),
      // Complex numbers are pairs, of which the first is the real part.
      read: ({ storage: { data, dtype } }: Library) =>
        dtype.startsWith('complex') ? data.filter((_: number, i: number) => i % 2 === 0) : data,
      from: adapters.fromNumpyTs,
      to: (x) => adapters.toNumpyTs(x, numpy),
      why: 'the library has its own memory',
    },
    {
      name: 'OpenCV.js, Mat',
      library: '@techstark/opencv-js',
      shape: [2, 3],
      make: (data, dtype) => adapters.toOpenCV(rows(data, dtype), cv),
      read: (object: Library) => object[matArrays[object.depth()] as string],
      from: adapters.fromOpenCV,
      to: (x) => adapters.toOpenCV(x, cv),
      why: 'the library has its own memory',
    },
    {
      name: 'DuckDB, vector',
      library: '@duckdb/node-api',
      shape: [6],
      make: (data, dtype) => toVector(Tensor.wrap(data, { dtype, shape: [6] })),
      read: (object: Library) => [0, 1, 2, 3, 4, 5].map((i) => object.getItem(i)),
      from: adapters.fromDuckDB,
      to: toVector,
      why: 'the library has its own memory',
    },
    {
      name: 'MediaPipe, MPMask',
      library: '@mediapipe/tasks-vision',
      shape: [2, 3],
      make: (data, dtype) => adapters.toMediaPipe(rows(data, dtype), vision),
      read: (object: Library) => (object.hasUint8Array() ? object.getAsUint8Array() : object.getAsFloat32Array()),
      from: adapters.fromMediaPipe,
      to: (x) => adapters.toMediaPipe(x, vision),
    },
  ];
}
