/**
 * TensorFlow.js on its CPU and WebAssembly backends.
 *
 * @module
 */

import type { DType } from '../dtype.js';
import type { Tensor } from '../tensor.js';
import { type AdaptOptions, checkDType, type LendOptions, lend, share } from './share.js';

/** The part of `tf.Tensor` that the adapter uses. */
export interface TensorFlowTensor {
  readonly shape: readonly number[];
  readonly dtype: string;
  readonly dataId: object;
  dataSync(): unknown;
}

/** `tf`, or another object with its `tensor` function. */
export interface TensorFlowModule<T> {
  tensor(values: never, shape: never, dtype: never): T;
}

const names = 'float32 int32 bool complex64';

export function isTensorFlow(value: object): value is TensorFlowTensor {
  const { dataId, shape, dataSync } = value as TensorFlowTensor;
  return typeof dataId === 'object' && Array.isArray(shape) && typeof dataSync === 'function';
}

/**
 * A tensor over the values of a `tf.Tensor`. The CPU backend keeps them in an array, which is shared. Other backends
 * download a copy. The memory stays valid after the `tf.Tensor` was disposed.
 */
export function fromTensorFlow(value: TensorFlowTensor, options?: AdaptOptions): Tensor {
  const { dtype, shape } = value;
  checkDType(dtype, names, 'DLPack');
  const array = value.dataSync();
  // A backend with its own memory makes a new array each time. Check only where it matters, because a download is slow.
  const isCopied = options?.copy === false && value.dataSync() !== array;
  return share(
    array,
    shape,
    options,
    isCopied
      ? { dtype: dtype as DType, copied: 'this TensorFlow.js backend has its own memory' }
      : { dtype: dtype as DType },
  );
}

/**
 * A `tf.Tensor` over the memory of a tensor: `toTensorFlow(x, tf)`. The WebAssembly backend copies the values. The
 * result belongs to the caller as any `tf.Tensor` does: `tf.keep` it inside `tf.tidy`, and dispose it.
 */
export function toTensorFlow<T>(source: object, tf: TensorFlowModule<T>, options?: LendOptions): T {
  const { array, tensor } = lend(source, 'float32 int32 bool', 'TensorFlow.js', options);
  return tf.tensor(array as never, tensor.shape as never, tensor.dtype as never);
}
