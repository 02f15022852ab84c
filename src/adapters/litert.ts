/**
 * LiteRT.js (`@litertjs/core`).
 *
 * @module
 */

import type { DType } from '../dtype.js';
import { BufferError } from '../errors.js';
import { gpuBuffers } from '../gpu-buffers.js';
import type { GPUBufferLike } from '../storage/storage.js';
import type { Tensor } from '../tensor.js';
import { onGpu, takeGpuBuffer } from './gpu.js';
import { type AdaptOptions, checkAdapt, checkDType, checkLend, type LendOptions, lend, share } from './share.js';

/** The part of a LiteRT.js `Tensor` that the adapter uses. */
export interface LiteRTTensor {
  readonly type: { readonly dtype: string; readonly layout: { readonly dimensions: ArrayLike<number> } };
  readonly accelerator: string;
  toTypedArray(): unknown;
  toGpuBuffer(): unknown;
  delete(): void;
}

/** The module `@litertjs/core`, or another object with its `Tensor` class. */
export interface LiteRTModule<T> {
  readonly Tensor: { new (data: never, shape: never, ...more: never[]): T };
  getWebGpuDevice?(): object | null;
}

const names = ['float32', 'int32', 'uint8'];
const copied = 'LiteRT.js copies between its own memory and arrays';

export function isLiteRT(value: object): value is LiteRTTensor {
  const { toTypedArray, toGpuBuffer } = value as LiteRTTensor;
  return typeof toTypedArray === 'function' && typeof toGpuBuffer === 'function';
}

/** A copy of a tensor in host memory. A tensor on WebGPU is shared and taken over: the last owner deletes it. */
export function fromLiteRT(value: LiteRTTensor, options?: AdaptOptions): Tensor {
  checkAdapt(options);
  const { dtype, layout } = value.type;
  const shape = Array.from(layout.dimensions);
  checkDType(dtype, names, 'DLPack');
  if (value.accelerator === 'webgpu') {
    const buffer = value.toGpuBuffer() as GPUBufferLike;
    return takeGpuBuffer(buffer, options, dtype as DType, shape, () => value.delete());
  }
  return share(value.toTypedArray(), shape, options, { dtype: dtype as DType, copied });
}

/** A LiteRT.js tensor with the elements of a tensor. A tensor on WebGPU is shared, other tensors are copied. */
export function toLiteRT<T>(source: object, litert: LiteRTModule<T>, options?: LendOptions): T {
  checkLend(options);
  const lent = onGpu(source, (tensor) => lendGpu(tensor, litert, options));
  if (lent !== null) return lent;
  if (options?.copy === false) throw new BufferError(`Expected shared memory but ${copied}`);
  const { array, tensor } = lend(source, names, 'LiteRT.js');
  return new litert.Tensor(array as never, [...tensor.shape] as never);
}

/**
 * LiteRT.js never releases a buffer that it was given. It calls the last argument when its tensor is deleted. For a
 * buffer of another GPUDevice than its own it would return wrong values.
 */
function lendGpu<T>(tensor: Tensor, litert: LiteRTModule<T>, options?: LendOptions): T {
  const { Tensor: Made } = litert;
  const { dtype, shape, nbytes } = tensor;
  checkDType(dtype, names, 'LiteRT.js');
  const own = options?.gpuDevice ?? litert.getWebGpuDevice?.();
  if (own) gpuBuffers().checkDevice(tensor, own, 'LiteRT.js');
  const { gpuBuffer, release } = gpuBuffers().lend(
    tensor,
    { library: 'LiteRT.js', size: nbytes, isExact: false },
    options,
  );
  try {
    const more = [dtype, undefined, release] as never[];
    return new Made(gpuBuffer as never, [...shape] as never, ...more);
  } catch (error) {
    release();
    throw error;
  }
}
