/** `adapt`: finds the adapter of an object. */

import { ArgumentTypeError, isUsable } from '../errors.js';
import type { Tensor } from '../tensor.js';
import type { Adapter } from './adapter.js';
import { arrowAdapter } from './arrow.js';
import { audioBufferAdapter } from './audio-buffer.js';
import { duckDBAdapter } from './duckdb.js';
import { imageDataAdapter } from './image-data.js';
import { jaxJsAdapter } from './jax-js.js';
import { liteRTAdapter } from './litert.js';
import { mediaPipeAdapter } from './mediapipe.js';
import { mlTensorAdapter } from './ml-tensor.js';
import { ndarrayAdapter } from './ndarray.js';
import { numpyTsAdapter } from './numpy-ts.js';
import { onnxRuntimeAdapter } from './onnxruntime.js';
import { openCVAdapter } from './opencv.js';
import type { GPUAdaptOptions } from './options.js';
import { isPipeline, rawAdvice, sharpAdapter } from './sharp.js';
import { stdlibAdapter } from './stdlib.js';
import { type TensorFlowOptions, tensorFlowAdapter } from './tensorflow.js';
import { transformersAdapter } from './transformers.js';
import { tvmjsAdapter } from './tvmjs.js';
import { typeGPUAdapter } from './typegpu.js';
import { videoFrameAdapter } from './video-frame.js';
import { zarritaAdapter } from './zarrita.js';

/** The options of {@link adapt}. An option that the library of the object does not have throws. */
export interface AnyAdaptOptions extends GPUAdaptOptions, TensorFlowOptions {}

/** In this order, because some libraries have the properties of others and more. */
const adapters: readonly Adapter[] = [
  typeGPUAdapter,
  numpyTsAdapter,
  openCVAdapter,
  duckDBAdapter,
  mediaPipeAdapter,
  transformersAdapter,
  onnxRuntimeAdapter,
  jaxJsAdapter,
  tensorFlowAdapter,
  liteRTAdapter,
  tvmjsAdapter,
  arrowAdapter,
  stdlibAdapter,
  ndarrayAdapter,
  zarritaAdapter,
  sharpAdapter,
  imageDataAdapter,
  audioBufferAdapter,
  videoFrameAdapter,
  mlTensorAdapter,
];
/** Those whose elements can only be read after a wait, and the functions that do. Bundlers change the names of functions. */
const asynchronous: readonly (readonly [adapter: Adapter, name: string])[] = [
  [videoFrameAdapter, 'fromVideoFrame'],
  [mlTensorAdapter, 'fromMLTensor'],
];

/** The tensor of an object that one of the adapters knows, or null. */
export function tryAdapt(value: unknown, options?: AnyAdaptOptions): Tensor | null {
  if (!isUsable(value) || Array.isArray(value)) return null;
  const adapter = adapters.find(({ is }) => matches(is, value));
  if (adapter === undefined) return null;
  for (const [refused, name] of asynchronous) {
    if (refused !== adapter) continue;
    const expected = `an object whose elements can be read without a wait (use await ${name}())`;
    throw new ArgumentTypeError('value', expected, value);
  }
  return adapter.from(value as never, options as never) as Tensor;
}

/** False for an object whose getters throw. */
function matches(is: (value: object) => boolean, value: object): boolean {
  try {
    return is(value);
  } catch {
    return false;
  }
}

/**
 * Makes a tensor of an object of any library that has an adapter here, as its `fromX` does.
 *
 * @param value - The object.
 * @param options - As for the `fromX` of its library. An option that it does not have throws.
 * @returns The tensor. It shares the memory where the library allows it.
 * @throws ArgumentTypeError for an object of no known library, and for a `VideoFrame` or an `MLTensor`, whose elements
 *   can only be read after a wait.
 * @throws As the `fromX` of its library does.
 * @example
 * ```ts
 * import { adapt } from 'dlpack/adapters';
 * import ndarray from 'ndarray';
 * const values = new Float32Array([1, 2, 3, 4]);
 * const x = adapt(ndarray(values, [2, 2]).transpose(1, 0));
 * console.log(x.toArray()); // [[1, 3], [2, 4]]
 * ```
 */
export function adapt(value: object, options?: AnyAdaptOptions): Tensor {
  const tensor = tryAdapt(value, options);
  if (tensor !== null) return tensor;
  const advice = matches(isPipeline, value)
    ? rawAdvice
    : 'use Tensor.wrap() for a typed array, or fromDLPack() for a tensor of this package';
  throw new ArgumentTypeError('value', 'a tensor of a library that dlpack/adapters knows', value, advice);
}
