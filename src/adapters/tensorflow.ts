/**
 * TensorFlow.js on its CPU, WebAssembly and WebGPU backends.
 *
 * @module
 */

import type { DType } from '../dtype.js';
import { ArgumentTypeError, BufferError } from '../errors.js';
import { gpuBuffers } from '../gpu-buffers.js';
import type { GPUBufferLike } from '../storage/storage.js';
import type { Tensor } from '../tensor.js';
import { onGpu } from './gpu.js';
import {
  type AdaptOptions,
  checkAdapt,
  checkDType,
  checkLend,
  copyIfAsked,
  type LendOptions,
  lend,
  share,
} from './share.js';

/** The part of `tf.Tensor` that the adapter uses. */
export interface TensorFlowTensor {
  readonly shape: readonly number[];
  readonly dtype: string;
  readonly dataId: object;
  dataSync(): unknown;
}

/** The internals of the WebGPU backend that sharing a buffer needs. The public `dataToGPU` always copies. */
interface GpuBackend {
  readonly device: object;
  /** null when no work is recorded. */
  readonly commandEncoder: object | null;
  readonly tensorMap: { get(dataId: object): { resource?: GPUBufferLike | null; external?: boolean } };
  readonly bufferManager: {
    acquireBuffer(size: number, usage: number): GPUBufferLike;
    releaseBuffer(buffer: GPUBufferLike): void;
  };
  uploadToGPU(dataId: object): void;
  endComputePassEncoder(): void;
  submitQueue(): void;
}

/** `tf`, or another object with its `tensor` function. */
export interface TensorFlowModule<T> {
  backend?(): unknown;
  tensor(values: never, shape: never, dtype: never): T;
}

/** Bits of `GPUBufferUsage`, which is not a global in every runtime. */
const STORAGE_AND_COPIES = 128 | 8 | 4;

const names = ['float32', 'int32', 'bool', 'complex64'];

export function isTensorFlow(value: object): value is TensorFlowTensor {
  const { dataId, shape, dataSync } = value as TensorFlowTensor;
  return typeof dataId === 'object' && Array.isArray(shape) && typeof dataSync === 'function';
}

/**
 * A tensor over the values of a `tf.Tensor`. The CPU backend keeps them in an array, which is shared. The WebGPU backend
 * shares its buffer with `{ backend: tf.backend() }`. Otherwise the values are downloaded. The memory stays valid after
 * the `tf.Tensor` was disposed.
 */
export function fromTensorFlow(value: TensorFlowTensor, options?: AdaptOptions): Tensor {
  checkAdapt(options);
  const { dtype, shape } = value;
  checkDType(dtype, names, 'DLPack');
  if (options?.backend !== undefined) return copyIfAsked(shareGpu(value, options.backend as GpuBackend), options);
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

/** Shares the GPUBuffer of a `tf.Tensor`. A second tensor over the same data keeps the buffer from being reused. */
function shareGpu(value: TensorFlowTensor, backend: GpuBackend): Tensor {
  checkDType(value.dtype, ['float32', 'int32'], 'DLPack on WebGPU');
  if (typeof backend.tensorMap?.get !== 'function' || typeof backend.submitQueue !== 'function') {
    throw new ArgumentTypeError('backend', 'tf.backend() of TensorFlow.js on WebGPU', backend);
  }
  const held = (value as TensorFlowTensor & { clone(): HeldTensor }).clone();
  try {
    held.kept = true; // as tf.keep does, so that tf.tidy does not dispose it
    const memory = () => backend.tensorMap.get(value.dataId).resource;
    if (memory() == null) backend.uploadToGPU(value.dataId); // small results are on the CPU
    // Work that is recorded but not submitted would run after the consumer's work.
    if (backend.commandEncoder !== null) {
      backend.endComputePassEncoder();
      backend.submitQueue();
    }
    const buffer = memory();
    if (buffer == null) throw new BufferError('Expected a tensor with elements on WebGPU but it has no GPUBuffer');
    return gpuBuffers().wrap(buffer, backend.device, value.dtype as DType, value.shape, () => held.dispose());
  } catch (error) {
    held.dispose();
    throw error;
  }
}

interface HeldTensor {
  kept: boolean;
  dispose(): void;
}

/**
 * A `tf.Tensor` over a tensor's GPUBuffer. TensorFlow.js does not report when it drops the buffer, so the collector
 * releases the buffer after the last `tf.Tensor` over it. A copy is in a buffer of TensorFlow.js, which reuses it.
 */
function lendGpu<T>(tensor: Tensor, tf: TensorFlowModule<T>, options?: LendOptions): T {
  const { dtype, shape, nbytes } = tensor;
  checkDType(dtype, ['float32', 'int32'], 'TensorFlow.js on WebGPU');
  const { device, bufferManager, tensorMap } = (tf.backend?.() ?? {}) as GpuBackend;
  if (device === undefined) {
    throw new BufferError(
      "Expected TensorFlow.js on its WebGPU backend for a tensor on 'webgpu'; tf.setBackend('webgpu')",
    );
  }
  const buffers = gpuBuffers();
  buffers.checkDevice(tensor, device, 'TensorFlow.js');
  // TensorFlow.js returns the padding of a larger buffer as elements.
  const acquire = () => {
    const gpuBuffer = bufferManager.acquireBuffer(nbytes, STORAGE_AND_COPIES);
    return { gpuBuffer, release: () => bufferManager.releaseBuffer(gpuBuffer) };
  };
  const lent = buffers.lend(tensor, { library: 'TensorFlow.js', size: nbytes, isExact: true, acquire }, options);
  try {
    const made = tf.tensor({ buffer: lent.gpuBuffer, zeroCopy: true } as never, shape as never, dtype as never);
    const { dataId } = made as unknown as TensorFlowTensor;
    if (lent.isGiven) tensorMap.get(dataId).external = false;
    else buffers.keepUntilCollected(dataId, lent);
    return made;
  } catch (error) {
    lent.release();
    throw error;
  }
}

/**
 * A `tf.Tensor` over the memory of a tensor: `toTensorFlow(x, tf)`. The WebAssembly backend copies the values. The
 * result belongs to the caller as any `tf.Tensor` does: `tf.keep` it inside `tf.tidy`, and dispose it.
 */
export function toTensorFlow<T>(source: object, tf: TensorFlowModule<T>, options?: LendOptions): T {
  checkLend(options);
  const lent = onGpu(source, (tensor) => lendGpu(tensor, tf, options));
  if (lent !== null) return lent;
  const { array, tensor } = lend(source, ['float32', 'int32', 'bool'], 'TensorFlow.js', options);
  // A new array, because TensorFlow.js takes twice the time for a frozen one.
  return tf.tensor(array as never, [...tensor.shape] as never, tensor.dtype as never);
}
