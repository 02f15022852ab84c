/**
 * `adapt`: finds the adapter of an object.
 *
 * @module
 */

import { ArgumentTypeError } from '../errors.js';
import type { Tensor } from '../tensor.js';
import { fromJaxJs, isJaxJs } from './jax-js.js';
import { fromOnnxRuntime, isOnnxRuntime } from './onnxruntime.js';
import type { AdaptOptions } from './share.js';
import { fromTensorFlow, isTensorFlow } from './tensorflow.js';
import { fromTransformers, isTransformers } from './transformers.js';

type Row = readonly [is: (value: object) => boolean, from: (value: never, options?: AdaptOptions) => Tensor];

/** In this order, because the objects of some libraries contain those of others. */
const rows = (): readonly Row[] => [
  [isTransformers, fromTransformers],
  [isOnnxRuntime, fromOnnxRuntime],
  [isTensorFlow, fromTensorFlow],
  [isJaxJs, fromJaxJs],
];

/** The tensor of an object that one of the adapters knows, or null. */
export function tryAdapt(value: unknown, options?: AdaptOptions): Tensor | null {
  if (typeof value !== 'object' || value === null) return null;
  for (const [is, from] of rows()) if (is(value)) return from(value as never, options);
  return null;
}

/** The tensor of an object of any library that has an adapter here, as its `fromX` returns it. */
export function adapt(value: object, options?: AdaptOptions): Tensor {
  const tensor = tryAdapt(value, options);
  if (tensor !== null) return tensor;
  throw new ArgumentTypeError('value', 'a tensor of a library that dlpack/adapters knows', value);
}
