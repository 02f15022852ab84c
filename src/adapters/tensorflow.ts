/** TensorFlow.js on its CPU, WebAssembly and WebGPU backends. */

import { checkDType, type DType } from '../dtype.js';
import { ArgumentTypeError, BufferError } from '../errors.js';
import type { GPUBufferLike } from '../storage/storage.js';
import type { Tensor } from '../tensor.js';
import { gpuBuffers } from './gpu-buffers.js';
import { type AdaptOptions, checkAdapt, type LendOptions, lend, share } from './share.js';

/** The part of `tf.Tensor` that the adapter uses. */
export interface TensorFlowTensor {
  readonly shape: readonly number[];
  readonly dtype: string;
  readonly dataId: object;
  readonly isDisposed?: boolean;
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

/** Bits of `GPUBufferUsage`, which is not a global in every runtime. An enum, because bundles contain only its number. */
enum Usage {
  StorageAndCopies = 128 | 8 | 4,
}

const library = 'TensorFlow.js';
const gpuNames = ['float32', 'int32'];
// The mark of a pure call lets a bundler omit the list from a program that does not use this adapter.
const names = /* @__PURE__ */ gpuNames.concat('bool', 'complex64');

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
  checkAdapt(value, value?.isDisposed ? null : value?.dataId, 'a live tf.Tensor', options);
  const { dataId, dtype, shape } = value;
  checkDType(dtype, names, 'DLPack');
  const backend = options?.backend as GpuBackend | undefined;
  if (!backend) {
    const array = value.dataSync();
    // A backend with its own memory makes a new array each time. Check only where it matters, because a download is slow.
    const copied = options?.copy === false && value.dataSync() !== array && 'the backend has its own memory';
    return share(array, { shape, dtype: dtype as DType }, options, copied);
  }
  if (!backend.submitQueue) throw new ArgumentTypeError('backend', 'tf.backend() on WebGPU', backend);
  const { hold } = gpuBuffers();
  // A second tensor over the same data keeps the buffer from being reused.
  const held = (value as TensorFlowTensor & { clone(): HeldTensor }).clone();
  const read = () => {
    held.kept = true; // as tf.keep does, so that tf.tidy does not dispose it
    const memory = backend.tensorMap.get(dataId);
    if (!memory.resource) backend.uploadToGPU(dataId); // small results are on the CPU
    // Work that is recorded but not submitted would run after the consumer's work.
    if (backend.commandEncoder) {
      backend.endComputePassEncoder();
      backend.submitQueue();
    }
    return memory.resource;
  };
  return hold(read, dtype as DType, shape, () => held.dispose(), { ...options, gpuDevice: backend.device }, gpuNames);
}

interface HeldTensor {
  kept: boolean;
  dispose(): void;
}

/**
 * A `tf.Tensor` over the memory of a tensor: `toTensorFlow(x, tf)`. The WebAssembly backend copies the values. The
 * result belongs to the caller as any `tf.Tensor` does: `tf.keep` it inside `tf.tidy`, and dispose it.
 *
 * TensorFlow.js does not report when it drops a GPUBuffer, so the collector releases the buffer after the last `tf.Tensor`
 * over it. A copy is in a buffer of TensorFlow.js, which reuses it.
 */
export function toTensorFlow<T>(source: object, tf: TensorFlowModule<T>, options?: LendOptions): T {
  // A new array for the shape, because TensorFlow.js takes twice the time for a frozen one.
  const make = (values: object, { shape, dtype }: Tensor) =>
    tf.tensor(values as never, [...shape] as never, dtype as never);
  return lend(source, names.slice(0, 3), library, tf, 'tensor', 'use toTensorFlow(x, tf)', options, make, (tensor) => {
    const size = tensor.nbytes;
    const backend = tf.backend?.() as GpuBackend | undefined;
    if (!backend?.device) throw new BufferError(`Expected ${library} on WebGPU; use tf.setBackend('webgpu')`);
    const acquire = () => {
      const gpuBuffer = backend.bufferManager.acquireBuffer(size, Usage.StorageAndCopies);
      return { gpuBuffer, release: () => backend.bufferManager.releaseBuffer(gpuBuffer) };
    };
    // Exactly this size, because TensorFlow.js returns the padding of a larger buffer as elements.
    const need = { library, size, acquire, dtypes: gpuNames, gpuDevice: backend.device, isExact: true };
    return gpuBuffers().lend(tensor, need, options, (lent) => {
      const made = make({ buffer: lent.gpuBuffer, zeroCopy: true }, tensor);
      const { dataId } = made as unknown as TensorFlowTensor;
      backend.tensorMap.get(dataId).external = !lent.isGiven;
      lent.keepFor(dataId);
      return made;
    });
  });
}
