/**
 * GPU buffers of libraries: tensors over them, and the buffers of tensors for a library.
 *
 * @module
 */

import { DeviceType } from '../device.js';
import { type DType, parseDType } from '../dtype.js';
import { ArgumentTypeError, BufferError } from '../errors.js';
import { fromDLPack } from '../from-dlpack.js';
import { DLPACK, DLPACK_VERSION, type GPUData, type ManagedTensor } from '../protocol/managed.js';
import type { GPUBufferLike } from '../storage/storage.js';
import type { Tensor } from '../tensor.js';

/** A tensor over a library's GPUBuffer. `release` is called once, when the last owner has released the tensor. */
export function fromGpuBuffer(
  gpuBuffer: GPUBufferLike,
  gpuDevice: object | undefined,
  dtype: DType,
  shape: readonly number[],
  release: () => void,
): Tensor {
  if (gpuDevice === undefined) {
    throw new ArgumentTypeError('gpuDevice', 'the GPUDevice to which the GPUBuffer belongs', gpuDevice);
  }
  const managed: ManagedTensor = {
    version: DLPACK_VERSION,
    flags: 0,
    data: { gpuBuffer, gpuDevice },
    byteOffset: 0,
    shape,
    strides: null,
    dtype: parseDType(dtype),
    device: { type: DeviceType.webgpu, id: 0 },
    deleter: release,
  };
  return fromDLPack({ [DLPACK]: () => managed });
}

/** The GPUBuffer of a tensor for a library that reads it from its start, and the function that releases it. */
export function lendGpuBuffer(tensor: Tensor, alignment: number): GPUData & { release: () => void } {
  const managed = tensor[DLPACK]({ copy: false }) as ManagedTensor;
  const release = () => managed.deleter?.();
  const data = managed.data as GPUData;
  const needed = Math.ceil(tensor.nbytes / alignment) * alignment;
  if (managed.byteOffset !== 0 || !tensor.isContiguous || data.gpuBuffer.size < needed) {
    release();
    throw new BufferError(
      `Expected a row-major tensor at the start of a GPUBuffer of at least ${needed} bytes for this library; ` +
        'copy it on the device first',
    );
  }
  return { ...data, release };
}
