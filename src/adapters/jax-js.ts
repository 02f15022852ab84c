/**
 * jax-js, whose arrays count their references.
 *
 * @module
 */

import { type DType, parseDType, type TypedArray } from '../dtype.js';
import { ArgumentTypeError, BufferError } from '../errors.js';
import { gpuBuffers } from '../gpu-buffers.js';
import { sizeOf } from '../layout.js';
import type { GPUBufferLike } from '../storage/storage.js';
import type { Tensor } from '../tensor.js';
import { onGpu } from './gpu.js';
import {
  type AdaptOptions,
  checkAdapt,
  checkDType,
  checkLend,
  copyIfAsked,
  hasFloat16,
  type LendOptions,
  lend,
  share,
} from './share.js';

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
const names = () => ['float32', 'int32', 'uint32', 'bool', ...(hasFloat16() ? ['float16', 'float64'] : [])];
const copied = 'jax-js copies the elements of arrays in host memory';

export function isJaxJs(value: object): value is JaxArray {
  return 'refCount' in value && 'dataSync' in value && 'dtype' in value;
}

/**
 * A tensor with the elements of a jax-js array. The caller keeps the array: the adapter uses a reference of its own. An
 * array on WebGPU is shared, and the tensor holds the reference. Other arrays are copied.
 */
export function fromJaxJs(value: JaxArray, options?: AdaptOptions): Tensor {
  checkAdapt(options);
  const { shape, dtype, device } = value;
  checkDType(dtype, names(), 'DLPack');
  if (device === 'webgpu') return copyIfAsked(shareGpu(value, options), options);
  if (options?.copy === false) throw new BufferError(`Expected shared memory but ${copied}`);
  const array = value.ref.dataSync() as TypedArray; // reading consumes the reference
  // jax-js stores booleans as 32-bit integers.
  return share(dtype === 'bool' ? Uint8Array.from(array as Int32Array) : array, shape, options, {
    dtype: dtype as DType,
    copied,
  });
}

/** Shares the GPUBuffer of an array. It holds booleans as 32-bit integers, which no dtype describes. */
function shareGpu(value: JaxArray, options?: AdaptOptions): Tensor {
  const { shape, dtype } = value;
  checkDType(dtype, ['float32', 'int32', 'uint32', 'float16'], 'DLPack on WebGPU');
  const held = value.ref;
  try {
    const { ref } = value as JaxArray & { ref: { gpuBufferSync(): GPUBufferLike } };
    return gpuBuffers().wrap(ref.gpuBufferSync(), options?.gpuDevice, dtype as DType, shape, () => held.dispose());
  } catch (error) {
    held.dispose();
    throw error;
  }
}

interface QueueOwner {
  readonly queue: { writeBuffer(...args: unknown[]): void };
}

/**
 * A new jax-js array on the GPU, to be overwritten. jax-js makes an array of zeros with a shader, and uploads an array
 * that it is given. Both take longer than the copy, so this leaves the upload out, and only that one.
 */
function emptyOnGpu(
  numpy: JaxModule<JaxArray>,
  shape: readonly number[],
  dtype: DType,
  { queue }: QueueOwner,
): JaxArray {
  const Values = parseDType(dtype).array as Float32ArrayConstructor;
  const values = new Values(sizeOf(shape));
  const { writeBuffer } = queue;
  const isOwn = Object.hasOwn(queue, 'writeBuffer');
  // Not an assignment, which would throw where the queue cannot change. Then jax-js uploads, and the copy follows.
  Reflect.set(queue, 'writeBuffer', (...args: unknown[]) => {
    if ((args[2] as ArrayBufferView | undefined)?.buffer !== values.buffer) writeBuffer.apply(queue, args);
  });
  try {
    return numpy.array(values as never, { shape: [...shape], dtype, device: 'webgpu' } as never);
  } finally {
    if (isOwn) Reflect.set(queue, 'writeBuffer', writeBuffer);
    else Reflect.deleteProperty(queue, 'writeBuffer');
  }
}

/** Copies a tensor on the GPU into a new jax-js array, because jax-js takes no buffers of others. */
function copyOnGpu<T>(tensor: Tensor, numpy: JaxModule<T>, gpuDevice: object | undefined): T {
  const { dtype, shape } = tensor;
  checkDType(dtype, ['float32', 'int32', 'uint32'], 'jax-js on WebGPU');
  if (gpuDevice === undefined) throw new ArgumentTypeError('gpuDevice', 'jax.getWebGPUDevice()', gpuDevice);
  gpuBuffers().checkDevice(tensor, gpuDevice, 'jax-js');
  const made = emptyOnGpu(numpy as JaxModule<JaxArray>, shape, dtype, gpuDevice as QueueOwner);
  try {
    const target = fromJaxJs(made, { gpuDevice });
    try {
      target.copyFrom(tensor);
    } finally {
      target.dispose();
    }
    return made as T;
  } catch (error) {
    made.dispose();
    throw error;
  }
}

/**
 * A jax-js array with the elements of a tensor, always a copy: `toJaxJs(x, jax.numpy)`. A tensor on WebGPU is copied on
 * the GPU: `toJaxJs(x, jax.numpy, { gpuDevice: jax.getWebGPUDevice() })`.
 */
export function toJaxJs<T>(source: object, numpy: JaxModule<T>, options?: LendOptions): T {
  checkLend(options);
  if (options?.copy === false) throw new BufferError(`Expected shared memory but ${copied}`);
  const copiedOnGpu = onGpu(source, (tensor) => copyOnGpu(tensor, numpy, options?.gpuDevice));
  if (copiedOnGpu !== null) return copiedOnGpu;
  const { array, tensor } = lend(source, names(), 'jax-js');
  const { dtype, shape } = tensor;
  const values = dtype === 'bool' ? Int32Array.from(array as Uint8Array) : array;
  return numpy.array(values as never, { shape: [...shape], dtype } as never);
}
