/** Each adapter beside the library's own construction of the same object, for Node and for a page. */

import { Tensor } from 'dlpack';
import * as adapters from 'dlpack/adapters';

// biome-ignore lint/suspicious/noExplicitAny: each library has types of its own
export type Library = any;

/** The libraries that both have. */
export type Libraries = Record<'ort' | 'transformers' | 'tf' | 'jax' | 'ndarray' | 'stdlib' | 'arrow', Library>;

export interface Row {
  /** What the library itself does, n times. */
  readonly own: (n: number) => void;
  readonly adapter: (n: number) => void;
}

/** The least time of one operation, in nanoseconds. */
export interface Times {
  readonly library: number;
  readonly adapter: number;
}

export const ROUNDS = 40;
const SAMPLES = 3;
const COUNT = 500;

let sink: unknown;
export const repeat = (action: () => unknown) => (n: number) => {
  for (let i = 0; i < n; i++) sink = action();
};
export const disposed = (action: () => { dispose(): void }) => (n: number) => {
  for (let i = 0; i < n; i++) action().dispose();
};

export function makeRows({ ort, transformers, tf, jax, ndarray, stdlib, arrow }: Libraries): Record<string, Row> {
  const x = Tensor.from([1, 2, 3, 4, 5, 6], { dtype: 'float32' }).reshape([2, 3]);
  const column = x.reshape([6]);
  const array = new Float32Array(6);
  const shape = [2, 3];
  const objects = {
    ort: new ort.Tensor('float32', array, shape),
    transformers: new transformers.Tensor('float32', array, shape),
    tf: tf.tensor(array, shape),
    jax: jax.numpy.array(array, { shape, dtype: 'float32' }),
    ndarray: ndarray(array, shape),
    stdlib: new stdlib('float32', array, shape, [3, 1], 0, 'row-major'),
    arrow: arrow.makeVector(array),
    zarrita: { data: array, shape, stride: [3, 1] },
  };
  return {
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
    'fromJaxJs, dispose': {
      own: repeat(() => objects.jax.ref.dataSync()),
      adapter: disposed(() => adapters.fromJaxJs(objects.jax)),
    },
    'toJaxJs, dispose': {
      own: disposed(() => jax.numpy.array(array, { shape: [2, 3], dtype: 'float32' })),
      adapter: disposed(() => adapters.toJaxJs(x, jax.numpy) as { dispose(): void }),
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
    'adapt(ort.Tensor), dispose': {
      own: repeat(() => objects.ort.data),
      adapter: disposed(() => adapters.adapt(objects.ort)),
    },
  };
}

/** Measures each row. The library and the adapter take turns. */
export function measure(rows: Record<string, Row>): Record<string, Times> {
  const sample = (batch: (n: number) => void): number[] =>
    Array.from({ length: SAMPLES }, () => {
      const start = performance.now();
      batch(COUNT);
      return ((performance.now() - start) * 1e6) / COUNT;
    });
  const measured = Object.entries(rows).map(([name, { own, adapter }]) => {
    const times: Record<'own' | 'adapter', number[]> = { own: [], adapter: [] };
    for (let round = 0; round < ROUNDS; round++) {
      times.own.push(...sample(own));
      times.adapter.push(...sample(adapter));
    }
    return [name, { library: Math.min(...times.own), adapter: Math.min(...times.adapter) }] as const;
  });
  void sink;
  return Object.fromEntries(measured);
}
