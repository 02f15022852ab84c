/**
 * GPU buffers of libraries. `dlpack/webgpu` has the functions that make tensors over them and lend them.
 *
 * @module
 */

import { DeviceType } from '../device.js';
import type { DType } from '../dtype.js';
import { fromDLPack } from '../from-dlpack.js';
import { gpuBuffers } from '../gpu-buffers.js';
import { DLPACK_DEVICE, type DLPackProducer } from '../protocol/managed.js';
import type { GPUBufferLike } from '../storage/storage.js';
import type { Tensor } from '../tensor.js';
import { type AdaptOptions, copyIfAsked } from './share.js';

/** A tensor that takes over a library's object in GPU memory. A copy leaves the object to the caller. */
export function takeGpuBuffer(
  gpuBuffer: GPUBufferLike,
  options: AdaptOptions | undefined,
  dtype: DType,
  shape: readonly number[],
  release: () => void,
): Tensor {
  const end = options?.copy === true ? () => {} : release;
  return copyIfAsked(gpuBuffers().wrap(gpuBuffer, options?.gpuDevice, dtype, shape, end), options);
}

/** True for a producer whose memory is in a GPUBuffer. */
export function isOnGpu(source: object): boolean {
  const device = (source as Partial<DLPackProducer>)[DLPACK_DEVICE];
  return typeof device === 'function' && device.call(source).type === DeviceType.webgpu;
}

/**
 * Calls `use` with the tensor of a producer whose memory is in a GPUBuffer; null for other memory. `use` must take its
 * own reference to what it keeps.
 */
export function onGpu<R>(source: object, use: (tensor: Tensor) => R): R | null {
  if (!isOnGpu(source)) return null;
  const tensor = fromDLPack(source);
  try {
    return use(tensor);
  } finally {
    tensor.dispose();
  }
}
