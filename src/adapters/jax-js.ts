/**
 * jax-js, whose arrays count their references.
 *
 * @module
 */

import type { DType, TypedArray } from '../dtype.js';
import { BufferError } from '../errors.js';
import type { GPUBufferLike } from '../storage/storage.js';
import type { Tensor } from '../tensor.js';
import { fromGpuBuffer } from './gpu.js';
import { type AdaptOptions, checkDType, type LendOptions, lend, share } from './share.js';

/** The part of a jax-js `Array` that the adapter uses. Every read of `ref` adds a reference. */
export interface JaxArray {
  readonly shape: readonly number[];
  readonly dtype: string;
  readonly device: string;
  readonly refCount: number;
  readonly ref: JaxArray;
  dataSync(): unknown;
  dispose(): void;
}

/** `numpy` of jax-js, or another object with its `array` function. */
export interface JaxModule<T> {
  array(values: never, options: never): T;
}

/** Without a Float16Array, jax-js makes no arrays of the two other dtypes. */
const names = () => `float32 int32 uint32 bool${'Float16Array' in globalThis ? ' float16 float64' : ''}`;
const copied = 'jax-js copies the elements of arrays in host memory';

export function isJaxJs(value: object): value is JaxArray {
  return 'refCount' in value && 'dataSync' in value && 'dtype' in value;
}

/**
 * A tensor with the elements of a jax-js array. The caller keeps the array: the adapter uses a reference of its own. An
 * array on WebGPU is shared, and the tensor holds the reference. Other arrays are copied.
 */
export function fromJaxJs(value: JaxArray, options?: AdaptOptions): Tensor {
  const { shape, dtype, device } = value;
  checkDType(dtype, names(), 'DLPack');
  if (device === 'webgpu') {
    const held = value.ref;
    try {
      const { ref } = value as JaxArray & { ref: { gpuBufferSync(): GPUBufferLike } };
      return fromGpuBuffer(ref.gpuBufferSync(), options?.gpuDevice, dtype as DType, shape, () => held.dispose());
    } catch (error) {
      held.dispose();
      throw error;
    }
  }
  if (options?.copy === false) throw new BufferError(`Expected shared memory but ${copied}`);
  const array = value.ref.dataSync() as TypedArray; // reading consumes the reference
  // jax-js stores booleans as 32-bit integers.
  return share(dtype === 'bool' ? Uint8Array.from(array as Int32Array) : array, shape, options, {
    dtype: dtype as DType,
    copied,
  });
}

/** A jax-js array with the elements of a tensor, always a copy: `toJaxJs(x, jax.numpy)`. */
export function toJaxJs<T>(source: object, numpy: JaxModule<T>, options?: LendOptions): T {
  if (options?.copy === false) throw new BufferError(`Expected shared memory but ${copied}`);
  const { array, tensor } = lend(source, names(), 'jax-js');
  const { dtype, shape } = tensor;
  const values = dtype === 'bool' ? Int32Array.from(array as Uint8Array) : array;
  return numpy.array(values as never, { shape: [...shape], dtype } as never);
}
