/** Every adapter refuses an object or a module of no library with an error that names what to pass. */

import { fromDLPack, isDLPackError, Tensor } from 'dlpack';
import * as adapters from 'dlpack/adapters';
import { equal, ok, throws } from '../assert.js';
import { test } from '../harness.js';

type AnyFunction = (...args: unknown[]) => unknown;

/** What a call throws or rejects with. */
async function failureOf(call: () => unknown): Promise<unknown> {
  try {
    return await call();
  } catch (error) {
    return error;
  }
}

/** What each `fromX` expects. */
const objects: Record<string, string> = {
  fromArrow: 'an Arrow Vector',
  fromAudioBuffer: 'an AudioBuffer',
  fromDuckDB: 'a vector of @duckdb/node-api',
  fromImageData: 'an ImageData',
  fromJaxJs: 'a live jax-js Array',
  fromLiteRT: 'a live LiteRT.js Tensor',
  fromMLTensor: 'an MLTensor',
  fromMediaPipe: 'an MPMask',
  fromNdarray: 'an ndarray',
  fromNumpyTs: 'an NDArray of numpy-ts',
  fromOnnxRuntime: 'an ort.Tensor',
  fromOpenCV: 'a cv.Mat',
  fromSharp: 'a raw image of sharp, { data, info }',
  fromStdlib: 'a stdlib ndarray',
  fromTensorFlow: 'a live tf.Tensor',
  fromTransformers: 'a transformers.js Tensor',
  fromTvmjs: 'a tvmjs Tensor',
  fromTypeGPU: 'a buffer of TypeGPU',
  fromVideoFrame: 'a VideoFrame',
  fromZarrita: 'a chunk of zarrita, { data, shape, stride }',
};

/** The library and the call that the error of each `toX` names. */
const libraries: Record<string, readonly [library: string, use: string]> = {
  toArrow: ['Arrow', 'toArrow(x, arrow), with apache-arrow'],
  toAudioBuffer: ['AudioBuffer', 'toAudioBuffer(x, AudioBuffer, { sampleRate }), with the class'],
  toDuckDB: ['DuckDB', 'toDuckDB(x, duckdb), with @duckdb/node-api'],
  toImageData: ['ImageData', 'toImageData(x, ImageData), with the class'],
  toJaxJs: ['jax-js', 'toJaxJs(x, jax.numpy)'],
  toLiteRT: ['LiteRT.js', 'toLiteRT(x, litert), with @litertjs/core'],
  toMLTensor: ['WebNN', 'toMLTensor(x, context), with an MLContext'],
  toMediaPipe: ['MediaPipe', 'toMediaPipe(x, vision), with @mediapipe/tasks-vision'],
  toNdarray: ['ndarray', 'toNdarray(x, ndarray), with the function'],
  toNumpyTs: ['numpy-ts', 'toNumpyTs(x, np), with the module numpy-ts'],
  toOnnxRuntime: ['ONNX Runtime', 'toOnnxRuntime(x, ort)'],
  toOpenCV: ['OpenCV.js', 'toOpenCV(x, cv), with the module'],
  toSharp: ['sharp', 'toSharp(x, sharp), with the function'],
  toStdlib: ['stdlib', 'toStdlib(x, ndarray), with the class'],
  toTensorFlow: ['TensorFlow.js', 'toTensorFlow(x, tf)'],
  toTransformers: ['transformers.js', 'toTransformers(x, transformers)'],
  toTvmjs: ['tvmjs', 'toTvmjs(x, tvm), with an Instance'],
  toTypeGPU: ['TypeGPU', 'toTypeGPU(x, { root, d }), with typegpu/data'],
  toVideoFrame: ['VideoFrame', 'toVideoFrame(x, VideoFrame, { timestamp }), with the class'],
};

const received: readonly [value: unknown, text: string][] = [
  [undefined, 'undefined'],
  [null, 'null'],
  [{}, 'an object of Object'],
  [5, '5 (number)'],
  ['x', "'x' (string)"],
];
const functions = (prefix: RegExp) => Object.entries(adapters).filter(([name]) => prefix.test(name));
const x = Tensor.from([1, 2], { dtype: 'float32' });

test('the tables name every adapter', () => {
  const names = (prefix: RegExp) => functions(prefix).map(([name]) => name);
  equal(Object.keys(objects), names(/^from[A-Z]/).sort());
  equal([...Object.keys(libraries), 'toZarrita'], names(/^to[A-Z]/).sort());
});

for (const [name, from] of functions(/^from[A-Z]/)) {
  test(`${name} names the object that it expects`, async () => {
    for (const [value, text] of received) {
      const error = await failureOf(() => (from as AnyFunction)(value));
      ok(isDLPackError(error, 'TypeError'), `${text}: ${String(error)}`);
      equal([error.argument, error.message], ['value', `Expected ${objects[name]} for value but received ${text}`]);
    }
  });
}

for (const [name, [library, use]] of Object.entries(libraries)) {
  test(`${name} names the library that it expects`, async () => {
    const to = (adapters as unknown as Record<string, AnyFunction>)[name] as AnyFunction;
    for (const [value, text] of received) {
      const error = await failureOf(() => to(x, value));
      ok(isDLPackError(error, 'TypeError'), `${text}: ${String(error)}`);
      const message = `Expected ${library} for library but received ${text}; use ${use}`;
      equal([error.argument, error.message], ['library', message]);
    }
    x.get(0); // still the caller's
  });
}

test('arrowValidity, fromMLTensor and toZarrita name what they expect', async () => {
  throws('TypeError', 'Expected an Arrow Vector for value', () => adapters.arrowValidity(undefined as never));
  const tensor = { dataType: 'float32', shape: [1], destroy() {} };
  const error = await failureOf(() => adapters.fromMLTensor(tensor, undefined as never));
  ok(
    isDLPackError(error, 'TypeError') && error.message.includes('use fromMLTensor(value, { context })'),
    String(error),
  );
  throws('TypeError', 'an object such as { copy: true } for options', () => adapters.toZarrita(x, null as never));
  throws('TypeError', 'Symbol.for("dlpack")', () => adapters.toZarrita(null as never));
});

test('objects with a part of an Arrow Vector are refused', () => {
  const type = { typeId: 2, bitWidth: 32, isSigned: true };
  const chunk = { type, length: 2, offset: 0, nullCount: 0, values: new Int32Array(2), nullBitmap: null };
  const rows = { ...chunk, type: { typeId: 16, listSize: 2 } };
  const vector = (data: unknown) => ({ type, data: [data], length: 2, nullCount: 0 }) as never;
  equal(adapters.fromArrow(vector(chunk)).toArray(), [0, 0]);
  for (const data of [
    ...[null, undefined, 1, 'x', {}],
    ...[null, undefined].map((missing) => ({ ...chunk, type: missing })),
    ...[undefined, null, [], [null], [1], [{}]].map((children) => ({ ...rows, children })),
    ...[undefined, null, 1, [1, 2], { subarray: 1 }].map((values) => ({ ...chunk, values })),
  ]) {
    const text = JSON.stringify(data);
    for (const call of [() => adapters.fromArrow(vector(data)), () => adapters.adapt(vector(data))]) {
      try {
        call();
        ok(false, `${text}: no error`);
      } catch (error) {
        ok(isDLPackError(error), `${text}: ${String(error)}`);
      }
    }
  }
  for (const data of [null, undefined, 1]) {
    throws('TypeError', 'Expected Arrow Data for value', () => adapters.arrowValidity(vector(data)));
  }
});

test('a function in the place of a module, and a module in the place of a function, are refused', () => {
  throws('TypeError', 'received Tensor (function); use toOnnxRuntime(x, ort)', () =>
    adapters.toOnnxRuntime(x, class Tensor {} as never),
  );
  throws('TypeError', 'use toSharp(x, sharp), with the function', () =>
    adapters.toSharp(x, { default: () => {} } as never),
  );
});

test('fromDLPack of an object that an adapter knows mentions dlpack/adapters', () => {
  const value = { type: 'float32', dims: [1], location: 'cpu', data: new Float32Array(1) };
  throws('TypeError', 'dlpack/adapters', () => fromDLPack(value));
});
