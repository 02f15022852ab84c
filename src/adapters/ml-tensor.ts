/** `MLTensor` of WebNN, after its specification: no platform of the tests has a context. */

import { checkDType, type DType } from '../dtype.js';
import { ArgumentTypeError } from '../errors.js';
import type { DLPackSource } from '../protocol/managed.js';
import type { GPUBufferLike } from '../storage/storage.js';
import { Tensor } from '../tensor.js';
import { type Adapter, awaitLibrary, type NamedDType, takeObject } from './adapter.js';
import { readRelease } from './fields.js';
import { gpuBuffers } from './gpu-buffers.js';
import { lend } from './lend.js';
import { checkCopied, type GPUAdaptOptions, gpuOption, type ToOptions } from './options.js';

/** The part of `MLTensor` that the adapter uses. */
export interface MLTensorLike {
  /** The element type, by its name in WebNN. */
  readonly dataType: string;
  /** The lengths of the axes. */
  readonly shape: readonly number[];
  /** Frees the tensor. */
  destroy(): void;
}

/** The part of `MLContext` that the adapter uses. */
export interface MLContextLike<T extends MLTensorLike> {
  /** Copies the elements out of a tensor. */
  readTensor(tensor: T): Promise<ArrayBuffer>;
  /** Makes a tensor. */
  createTensor(descriptor: never): Promise<T>;
  /** Copies elements into a tensor. */
  writeTensor(tensor: T, data: never): void;
  /** Returns a GPUBuffer over the memory of a tensor, which cannot be used until the buffer is destroyed. */
  exportToGPU?(tensor: T): Promise<
    GPUBufferLike & {
      /** Gives the memory back to the tensor. */
      destroy(): void;
    }
  >;
}

/** The options of {@link fromMLTensor}. */
export interface MLTensorOptions<T extends MLTensorLike> extends GPUAdaptOptions {
  /** The context that made the tensor. */
  context: MLContextLike<T>;
}

export const mlTensorAdapter: Adapter = {
  name: 'WebNN',
  object: 'an MLTensor',
  dtypes: ['float32', 'float16', 'int32', 'uint32', 'int64', 'uint64', 'int8', 'uint8', 'int4', 'uint4'],
  is: isMLTensor,
  from: fromMLTensor,
  to: toMLTensor,
};

export function isMLTensor(value: object): value is MLTensorLike {
  const { dataType, shape, destroy } = value as MLTensorLike;
  return typeof dataType === 'string' && Array.isArray(shape) && typeof destroy === 'function';
}

/**
 * Copies the elements of an `MLTensor` into host memory. With `gpuDevice` its memory is rented as a GPUBuffer, and the
 * context cannot use the tensor until the result is disposed.
 *
 * @param value - The tensor of WebNN.
 * @param options - The context that made it (`context`), the GPUDevice of the result (`gpuDevice`; host memory when
 *   absent), and `copy` and `adopt` as in every `fromX`.
 * @returns A promise of the tensor. It shares memory only as a rented GPUBuffer.
 * @throws ArgumentTypeError for anything but an `MLTensor` and its context.
 * @throws UnsupportedDTypeError for elements that no dtype describes.
 * @throws BufferError if `copy: false` forbids a copy that is needed, or `adopt` a move that is impossible.
 * @throws ForeignError if WebNN fails.
 * @example
 * ```ts fragment: needs WebNN
 * import { fromMLTensor } from 'dlpack/adapters';
 * const y = await fromMLTensor(output, { context });
 * ```
 */
export async function fromMLTensor<T extends MLTensorLike>(
  value: T,
  options: MLTensorOptions<T>,
): Promise<Tensor<NamedDType<T['dataType']>>> {
  return takeObject({
    adapter: mlTensorAdapter,
    value,
    options,
    ownOptions: { context: true, ...gpuOption },
    read: () => awaitLibrary(mlTensorAdapter.name, () => readFrom(value, options)),
  }) as Promise<Tensor<NamedDType<T['dataType']>>>;
}

async function readFrom<T extends MLTensorLike>(value: T, options: MLTensorOptions<T> | undefined): Promise<Tensor> {
  const context = options?.context;
  if (context?.readTensor == null) {
    const advice = 'use fromMLTensor(value, { context }), with an MLContext';
    throw new ArgumentTypeError('library', mlTensorAdapter.name, context, advice);
  }
  const { dataType, shape } = value;
  checkDType(dataType, mlTensorAdapter.dtypes, 'DLPack');
  const dtype = dataType as DType;
  if (options?.gpuDevice !== undefined && context.exportToGPU !== undefined) {
    const { borrow } = gpuBuffers();
    const buffer = await context.exportToGPU(value);
    // The context gets the memory back if a check fails.
    return borrow({
      read: () => buffer,
      dtype,
      shape,
      release: readRelease(mlTensorAdapter, buffer, 'destroy'),
      options,
    });
  }
  checkCopied(options, 'WebNN copies tensors to the host');
  return Tensor.adopt(new Uint8Array(await context.readTensor(value)), { shape, dtype });
}

/**
 * Makes an `MLTensor` of the context with a copy of the elements of a tensor. The caller destroys it.
 *
 * @param source - The tensor, or any object with tensors that `fromDLPack` takes.
 * @param context - The `MLContext`.
 * @param options - `copy: false` throws, because the elements are always copied.
 * @returns A promise of the tensor of WebNN.
 * @throws ArgumentTypeError for anything but a tensor and a context.
 * @throws UnsupportedDTypeError for a dtype that WebNN does not have.
 * @throws BufferError for `copy: false`.
 * @throws ForeignError if WebNN fails.
 * @example
 * ```ts fragment: needs WebNN
 * import { toMLTensor } from 'dlpack/adapters';
 * const input = await toMLTensor(x, context);
 * ```
 */
export async function toMLTensor<T extends MLTensorLike>(
  source: DLPackSource,
  context: MLContextLike<T>,
  options?: ToOptions,
): Promise<T> {
  return lend({
    adapter: mlTensorAdapter,
    source,
    library: { value: context, property: 'createTensor', usage: 'toMLTensor(x, context), with an MLContext' },
    options,
    copied: 'WebNN copies tensors from the host',
    make: ({ array, tensor: { dtype, shape } }) => {
      const descriptor = { dataType: dtype, shape: [...shape], writable: true, readable: true };
      return awaitLibrary(mlTensorAdapter.name, async () => {
        const made = await context.createTensor(descriptor as never);
        try {
          context.writeTensor(made, array as never);
          return made;
        } catch (error) {
          made.destroy();
          throw error;
        }
      });
    },
  });
}
