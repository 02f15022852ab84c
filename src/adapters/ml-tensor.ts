/** `MLTensor` of WebNN, after its specification: no platform of the tests has a context. */

import { checkDType, type DType } from '../dtype.js';
import type { GPUBufferLike } from '../storage/storage.js';
import { Tensor } from '../tensor.js';
import { gpuBuffers } from './gpu-buffers.js';
import { type AdaptOptions, checkAdapt, checkCopied, lend } from './share.js';

/** The part of `MLTensor` that the adapter uses. */
export interface MLTensorLike {
  readonly dataType: string;
  readonly shape: readonly number[];
  destroy(): void;
}

/** The part of `MLContext` that the adapter uses. */
export interface MLContextLike<T extends MLTensorLike> {
  readTensor(tensor: T): Promise<ArrayBuffer>;
  createTensor(descriptor: never): Promise<T>;
  writeTensor(tensor: T, data: never): void;
  exportToGPU?(tensor: T): Promise<GPUBufferLike & { destroy(): void }>;
}

const names = ['float32', 'float16', 'int32', 'uint32', 'int64', 'uint64', 'int8', 'uint8', 'int4', 'uint4'];

export function isMLTensor(value: object): value is MLTensorLike {
  const { dataType, shape, destroy } = value as MLTensorLike;
  return typeof dataType === 'string' && Array.isArray(shape) && typeof destroy === 'function';
}

/**
 * The elements of an `MLTensor`: a copy in host memory. With `gpuDevice` its memory is rented as a GPUBuffer, and the
 * context cannot use the tensor until the result is disposed.
 */
export async function fromMLTensor<T extends MLTensorLike>(
  value: T,
  context: MLContextLike<T>,
  options?: AdaptOptions,
): Promise<Tensor> {
  checkAdapt(value, value?.dataType, 'an MLTensor', options);
  checkAdapt(
    context,
    context?.readTensor,
    'WebNN',
    undefined,
    {},
    'use fromMLTensor(value, context), with an MLContext',
  );
  const { dataType, shape } = value;
  checkDType(dataType, names, 'DLPack');
  const dtype = dataType as DType;
  if (options?.gpuDevice !== undefined && context.exportToGPU !== undefined) {
    const { hold } = gpuBuffers();
    const buffer = await context.exportToGPU(value);
    // The context gets the memory back if a check fails.
    return hold(
      () => buffer,
      dtype,
      shape,
      () => buffer.destroy(),
      options,
    );
  }
  checkCopied(options, 'WebNN copies tensors to the host');
  return Tensor.adopt(new Uint8Array(await context.readTensor(value)), { shape, dtype });
}

/** An `MLTensor` of the context with the elements of a tensor. The caller destroys it. */
export async function toMLTensor<T extends MLTensorLike>(source: object, context: MLContextLike<T>): Promise<T> {
  return lend(
    source,
    names,
    'WebNN',
    context,
    'createTensor',
    'use toMLTensor(x, context), with an MLContext',
    undefined,
    async (array, { dtype, shape }) => {
      const descriptor = { dataType: dtype, shape: [...shape], writable: true, readable: true };
      const made = await context.createTensor(descriptor as never);
      try {
        context.writeTensor(made, array as never);
        return made;
      } catch (error) {
        made.destroy();
        throw error;
      }
    },
  );
}
