/** TensorFlow.js on its CPU, WebAssembly and WebGPU backends. */

import { checkDType, type DType } from '../dtype.js';
import { ArgumentTypeError, BufferError } from '../errors.js';
import type { DLPackSource } from '../protocol/managed.js';
import type { GPUBufferLike } from '../storage/storage.js';
import type { Tensor } from '../tensor.js';
import { type Adapter, type NamedDType, takeObject } from './adapter.js';
import { readRelease } from './fields.js';
import { gpuBuffers } from './gpu-buffers.js';
import { lend } from './lend.js';
import type { AdaptOptions, ToOptions } from './options.js';
import { share } from './share.js';

/** The part of `tf.Tensor` that the adapter uses. */
export interface TensorFlowTensor {
  /** The lengths of the axes. */
  readonly shape: readonly number[];
  /** The element type, by its name in TensorFlow.js. */
  readonly dtype: string;
  /** The key of the memory in its backend. */
  readonly dataId: object;
  /** True after `dispose()`. */
  readonly isDisposed?: boolean;
  /** Returns the elements as a typed array, and waits for them. */
  dataSync(): unknown;
}

/** The options of {@link fromTensorFlow}. */
export interface TensorFlowOptions extends AdaptOptions {
  /** `tf.backend()` of TensorFlow.js on WebGPU: shares the tensor's GPUBuffer. Without it, values on a GPU are downloaded. */
  backend?: object;
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
  /** Returns the backend that computes. */
  backend?(): unknown;
  /**
   * Makes a tensor from a typed array or a GPUBuffer.
   *
   * @param values - A typed array, or `{ buffer, zeroCopy }`.
   * @param shape - The lengths of the axes.
   * @param dtype - The element type, by its name in TensorFlow.js.
   */
  tensor(values: never, shape: never, dtype: never): T;
}

/** STORAGE, COPY_SRC and COPY_DST of `GPUBufferUsage`, which is not a global in every runtime. */
const USAGE = 128 | 4 | 8;

export const tensorFlowAdapter: Adapter = {
  name: 'TensorFlow.js',
  object: 'a live tf.Tensor',
  dtypes: ['float32', 'int32', 'bool', 'complex64'],
  is: isTensorFlow,
  from: fromTensorFlow,
  to: toTensorFlow,
};

const gpuNames = ['float32', 'int32'];

export function isTensorFlow(value: object): value is TensorFlowTensor {
  const { dataId, shape, dataSync } = value as TensorFlowTensor;
  return typeof dataId === 'object' && Array.isArray(shape) && typeof dataSync === 'function';
}

/**
 * Makes a tensor over the values of a `tf.Tensor`. The CPU backend keeps them in an array, which is shared. The WebGPU
 * backend shares its buffer with `{ backend: tf.backend() }`. Otherwise the values are downloaded. The memory stays
 * valid after the `tf.Tensor` was disposed.
 *
 * @param value - A live `tf.Tensor`.
 * @param options - The WebGPU backend, to share its buffer (`backend`). Whether to copy (`copy`; when absent, only
 *   where the library cannot share) or to move the memory out of the object (`adopt`, false when absent).
 * @returns A tensor that shares the memory, or a copy.
 * @throws ArgumentTypeError for anything but a live `tf.Tensor`, and for a backend without WebGPU.
 * @throws UnsupportedDTypeError for elements that no dtype describes.
 * @throws BufferError if `copy: false` forbids a copy that is needed, or `adopt` a move that is impossible.
 * @throws ForeignError if TensorFlow.js fails.
 * @example
 * ```ts
 * import * as tf from '@tensorflow/tfjs-core';
 * import '@tensorflow/tfjs-backend-cpu';
 * import { fromTensorFlow } from 'dlpack/adapters';
 * console.log(fromTensorFlow(tf.tensor([1, 2, 3])).toArray()); // [1, 2, 3]
 * ```
 */
export function fromTensorFlow<T extends TensorFlowTensor>(
  value: T,
  options?: TensorFlowOptions,
): Tensor<NamedDType<T['dtype']>> {
  return takeObject<TensorFlowOptions, Tensor>({
    adapter: tensorFlowAdapter,
    value,
    options,
    ownOptions: { backend: true },
    read: () => {
      if (value.isDisposed) throw new ArgumentTypeError('value', tensorFlowAdapter.object, value);
      checkDType(value.dtype, tensorFlowAdapter.dtypes, 'DLPack');
      const backend = options?.backend as GpuBackend | undefined;
      return backend ? fromBackend(value, backend, options) : fromValues(value, options);
    },
  }) as Tensor<NamedDType<T['dtype']>>;
}

function fromValues(value: TensorFlowTensor, options: TensorFlowOptions | undefined): Tensor {
  const { dtype, shape } = value;
  const array = value.dataSync();
  // A backend with its own memory makes a new array each time. Check only where it matters, because a download is slow.
  const copied = options?.copy === false && value.dataSync() !== array && 'the backend has its own memory';
  return share({ adapter: tensorFlowAdapter, array, layout: { shape, dtype: dtype as DType }, options, copied });
}

function fromBackend(value: TensorFlowTensor, backend: GpuBackend, options: TensorFlowOptions | undefined): Tensor {
  if (!backend.submitQueue) throw new ArgumentTypeError('backend', 'tf.backend() on WebGPU', backend);
  const { dataId, dtype, shape } = value;
  const { borrow } = gpuBuffers();
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
  const asked = { ...options, gpuDevice: backend.device };
  const release = readRelease(tensorFlowAdapter, held, 'dispose');
  return borrow({ read, dtype: dtype as DType, shape, release, options: asked, dtypes: gpuNames });
}

interface HeldTensor {
  kept: boolean;
  dispose(): void;
}

/**
 * Makes a `tf.Tensor` over the memory of a tensor. The WebAssembly backend copies the values. The result belongs to the
 * caller as any `tf.Tensor` does: `tf.keep` it inside `tf.tidy`, and dispose it.
 *
 * TensorFlow.js does not report when it drops a GPUBuffer, so the collector releases the buffer after the last
 * `tf.Tensor` over it. A copy is in a buffer of TensorFlow.js, which reuses it.
 *
 * @param source - The tensor, or any object with tensors that `fromDLPack` takes.
 * @param tf - The module.
 * @param options - Whether to copy; when absent, only where the library cannot share.
 * @returns A tensor of TensorFlow.js that shares the memory, or has a copy of memory that is read-only or not
 *   row-major.
 * @throws ArgumentTypeError for anything but a tensor and the module.
 * @throws UnsupportedDTypeError for a dtype that TensorFlow.js does not have.
 * @throws UnsupportedDeviceError for a tensor on another GPUDevice.
 * @throws BufferError if `copy: false` forbids a copy that is needed, or a tensor on WebGPU meets another backend.
 * @throws ForeignError if TensorFlow.js fails.
 * @example
 * ```ts
 * import * as tf from '@tensorflow/tfjs-core';
 * import '@tensorflow/tfjs-backend-cpu';
 * import { Tensor } from 'dlpack';
 * import { toTensorFlow } from 'dlpack/adapters';
 * const x = toTensorFlow(Tensor.from([1, 2, 3], { dtype: 'float32' }), tf);
 * console.log(x.shape); // [3]
 * ```
 */
export function toTensorFlow<T>(source: DLPackSource, tf: TensorFlowModule<T>, options?: ToOptions): T {
  // A new array for the shape, because TensorFlow.js takes twice the time for a frozen one.
  const construct = (values: object, { shape, dtype }: Tensor) =>
    tf.tensor(values as never, [...shape] as never, dtype as never);
  return lend({
    adapter: tensorFlowAdapter,
    source,
    library: { value: tf, property: 'tensor', usage: 'toTensorFlow(x, tf)' },
    options,
    dtypes: ['float32', 'int32', 'bool'],
    make: ({ array, tensor }) => construct(array, tensor),
    makeOnGpu: (tensor) => {
      const { name: library } = tensorFlowAdapter;
      const size = tensor.nbytes;
      const backend = tf.backend?.() as GpuBackend | undefined;
      if (!backend?.device) throw new BufferError(`Expected ${library} on WebGPU; use tf.setBackend('webgpu')`);
      const acquire = () => {
        const gpuBuffer = backend.bufferManager.acquireBuffer(size, USAGE);
        return { gpuBuffer, release: () => backend.bufferManager.releaseBuffer(gpuBuffer) };
      };
      // Exactly this size, because TensorFlow.js returns the padding of a larger buffer as elements.
      const need = { library, size, acquire, dtypes: gpuNames, gpuDevice: backend.device, isExact: true };
      return gpuBuffers().lend(tensor, need, options, (lent) => {
        const made = construct({ buffer: lent.gpuBuffer, zeroCopy: true }, tensor);
        const { dataId } = made as unknown as TensorFlowTensor;
        backend.tensorMap.get(dataId).external = !lent.isGiven;
        lent.keepFor(dataId);
        return made;
      });
    },
  });
}
