/**
 * GPU buffers of libraries: tensors over them, and the buffers of tensors for a library.
 *
 * @module
 */

import { DeviceType, deviceOfGPU, type GPUDeviceLike, parseDevice } from '../device.js';
import { type DType, parseDType } from '../dtype.js';
import { ArgumentTypeError, BufferError, UnsupportedDeviceError } from '../errors.js';
import { fromDLPack } from '../from-dlpack.js';
import {
  DLPACK,
  DLPACK_DEVICE,
  DLPACK_VERSION,
  type DLPackProducer,
  type GPUData,
  type ManagedTensor,
} from '../protocol/managed.js';
import { getDeviceBackend } from '../storage/device-backend.js';
import type { GPUBufferLike } from '../storage/storage.js';
import type { Tensor } from '../tensor.js';
import type { LendOptions } from './share.js';

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

/** What a library accepts as the memory of a tensor. No library takes an offset. */
export interface BufferNeed {
  /** The library, for messages. */
  readonly library: string;
  /** Bytes of the buffer. */
  readonly size: number;
  /** The library takes all bytes of the buffer for elements. */
  readonly isExact: boolean;
}

/** The GPUBuffer that a library gets, and the function that releases it. */
export interface LentBuffer extends GPUData {
  release(): void;
}

/** Lends the GPUBuffer of a tensor to a library, or a copy on the same device where the buffer does not fit. */
export function lendGpuBuffer(tensor: Tensor, need: BufferNeed, options?: LendOptions): LentBuffer {
  if (options?.gpuDevice !== undefined) checkGpuDevice(tensor, options.gpuDevice, need.library);
  const managed = tensor[DLPACK]({ copy: false }) as ManagedTensor;
  const lent = { ...(managed.data as GPUData), release: () => managed.deleter?.() };
  const { size } = lent.gpuBuffer;
  const isFit = need.isExact ? size === need.size : size >= need.size;
  const isShared = isFit && managed.byteOffset === 0 && tensor.isContiguous;
  if (isShared && options?.copy !== true) return lent;
  try {
    if (options?.copy !== false && getDeviceBackend(parseDevice(tensor.device)) !== null) {
      return copyForLibrary(tensor, lent.gpuDevice, need.size);
    }
    throw new BufferError(
      `Expected a row-major tensor at the start of a GPUBuffer of ${need.isExact ? '' : 'at least '}${need.size} bytes ` +
        `for ${need.library}; allow a copy on the device, which needs import "dlpack/webgpu"`,
    );
  } finally {
    lent.release();
  }
}

interface BufferMaker {
  createBuffer(descriptor: { size: number; usage: number }): GPUBufferLike & { destroy(): void };
}

const STORAGE_AND_COPIES = 128 | 8 | 4; // GPUBufferUsage, which is not a global in every runtime

function copyForLibrary(tensor: Tensor, gpuDevice: object, size: number): LentBuffer {
  const gpuBuffer = (gpuDevice as BufferMaker).createBuffer({ size, usage: STORAGE_AND_COPIES });
  const release = () => gpuBuffer.destroy();
  try {
    const copy = fromGpuBuffer(gpuBuffer, gpuDevice, tensor.dtype, tensor.shape, () => {});
    copy.copyFrom(tensor);
    copy.dispose();
    return { gpuBuffer, gpuDevice, release };
  } catch (error) {
    release();
    throw error;
  }
}

/** Throws unless a library works on the GPUDevice of the tensor. Some libraries would return wrong values silently. */
export function checkGpuDevice(tensor: Tensor, gpuDevice: object, library: string): void {
  if (tensor.on(gpuDevice as GPUDeviceLike)) return;
  const wanted = deviceOfGPU(gpuDevice).name;
  throw new UnsupportedDeviceError(
    tensor.device,
    `Expected a tensor on '${wanted}', the GPUDevice of ${library}, but this one is on '${tensor.device}'; ` +
      'use one GPUDevice for all libraries, or copy it: await x.toAsync(gpuDevice, { stage: true })',
  );
}

/**
 * Calls `use` with the tensor of a producer whose memory is in a GPUBuffer; null for other memory. `use` must take its
 * own reference to what it keeps.
 */
export function onGpu<R>(source: object, use: (tensor: Tensor) => R): R | null {
  const device = (source as Partial<DLPackProducer>)[DLPACK_DEVICE];
  if (typeof device !== 'function' || device.call(source).type !== DeviceType.webgpu) return null;
  const tensor = fromDLPack(source);
  try {
    return use(tensor);
  } finally {
    tensor.dispose();
  }
}
