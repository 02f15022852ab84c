/** `adapt`: finds the adapter of an object. */

import { ArgumentTypeError, isUsable } from '../errors.js';
import type { Tensor } from '../tensor.js';
import { fromArrow, isArrow } from './arrow.js';
import { fromAudioBuffer, isAudioBuffer } from './audio-buffer.js';
import { fromImageData, isImageData } from './image-data.js';
import { fromJaxJs, isJaxJs } from './jax-js.js';
import { fromLiteRT, isLiteRT } from './litert.js';
import { isMLTensor } from './ml-tensor.js';
import { fromNdarray, isNdarray } from './ndarray.js';
import { fromOnnxRuntime, isOnnxRuntime } from './onnxruntime.js';
import type { AdaptOptions } from './share.js';
import { fromSharp, isSharp } from './sharp.js';
import { fromStdlib, isStdlib } from './stdlib.js';
import { fromTensorFlow, isTensorFlow } from './tensorflow.js';
import { fromTransformers, isTransformers } from './transformers.js';
import { fromTvmjs, isTvmjs } from './tvmjs.js';
import { isVideoFrame } from './video-frame.js';
import { fromZarrita, isZarrita } from './zarrita.js';

type Row = readonly [is: (value: object) => boolean, from: (value: never, options?: AdaptOptions) => Tensor];

/** Refuses an object whose elements can only be read after a wait. */
function refuse(value: object): never {
  const name = isVideoFrame(value) ? 'fromVideoFrame' : 'fromMLTensor';
  throw new ArgumentTypeError(
    'value',
    `an object whose elements can be read without a wait (use await ${name}())`,
    value,
  );
}

/** In this order, because some libraries have the properties of others and more. No calls, so that bundlers can omit it. */
const rows: readonly Row[] = [
  [isTransformers, fromTransformers],
  [isOnnxRuntime, fromOnnxRuntime],
  [isJaxJs, fromJaxJs],
  [isTensorFlow, fromTensorFlow],
  [isLiteRT, fromLiteRT],
  [isTvmjs, fromTvmjs],
  [isArrow, fromArrow],
  [isStdlib, fromStdlib],
  [isNdarray, fromNdarray],
  [isZarrita, fromZarrita],
  [isSharp, fromSharp],
  [isImageData, fromImageData],
  [isAudioBuffer, fromAudioBuffer],
  [isVideoFrame, refuse],
  [isMLTensor, refuse],
];

/** The tensor of an object that one of the adapters knows, or null. */
export function tryAdapt(value: unknown, options?: AdaptOptions): Tensor | null {
  if (!isUsable(value) || Array.isArray(value)) return null;
  for (const [is, from] of rows) if (matches(is, value)) return from(value as never, options);
  return null;
}

/** False for an object whose getters throw. */
function matches(is: (value: object) => boolean, value: object): boolean {
  try {
    return is(value);
  } catch {
    return false;
  }
}

/** The tensor of an object of any library that has an adapter here, as its `fromX` returns it. */
export function adapt(value: object, options?: AdaptOptions): Tensor {
  const tensor = tryAdapt(value, options);
  if (tensor !== null) return tensor;
  const advice = 'use Tensor.wrap() for a typed array, or fromDLPack() for a tensor of this package';
  throw new ArgumentTypeError('value', 'a tensor of a library that dlpack/adapters knows', value, advice);
}
