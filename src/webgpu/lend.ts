/**
 * GPUBuffers of other libraries as tensors, and GPUBuffers of tensors for other libraries.
 *
 * @module
 */

import { deviceOfGPU, type GPUDeviceLike } from '../device.js';
import { type DType, parseDType } from '../dtype.js';
import { ArgumentTypeError, BufferError, UnsupportedDeviceError } from '../errors.js';
import type { BufferNeed, BufferOptions, LentBuffer } from '../gpu-buffers.js';
import { checkShape, rowMajorStrides } from '../layout.js';
import { Descriptor } from '../storage/descriptor.js';
import { type GPUBufferLike, GpuStorage } from '../storage/storage.js';
import { Tensor } from '../tensor.js';
import { descriptorOf } from '../view.js';
import { type GpuDevice, Usage } from './api.js';
import { gpuStorage } from './memory.js';

export function wrapBuffer(
  gpuBuffer: GPUBufferLike,
  gpuDevice: object | undefined,
  dtype: DType,
  shape: readonly number[],
  release: () => void,
): Tensor {
  if (gpuDevice === undefined) {
    throw new ArgumentTypeError('gpuDevice', 'the GPUDevice to which the GPUBuffer belongs', gpuDevice);
  }
  const lengths = checkShape(shape);
  const [type, device, nbytes] = [parseDType(dtype), deviceOfGPU(gpuDevice), Number(gpuBuffer.size)];
  const describe = (storage: GpuStorage): Descriptor =>
    new Descriptor(storage, type, device, lengths, rowMajorStrides(lengths), 0, 0);
  // The caller keeps the buffer when a check fails, so check before a storage takes over the release.
  describe(new GpuStorage(gpuBuffer, gpuDevice, nbytes)).checkBounds();
  return new Tensor(describe(gpuStorage(gpuBuffer, gpuDevice, nbytes, release)));
}

export function lendBuffer(tensor: Tensor, need: BufferNeed, options?: BufferOptions): LentBuffer {
  if (options?.gpuDevice !== undefined) checkDevice(tensor, options.gpuDevice, need.library);
  const { bitOffset, isContiguous, isReadOnly, storage } = descriptorOf(tensor).shared();
  const { gpuBuffer, gpuDevice } = storage as GpuStorage;
  const isFit = need.isExact ? gpuBuffer.size === need.size : gpuBuffer.size >= need.size;
  if (isFit && bitOffset === 0 && isContiguous && !isReadOnly && options?.copy !== true) {
    return lendStorage(storage as GpuStorage);
  }
  if (options?.copy !== false) return copyForLibrary(tensor, gpuDevice as GpuDevice, need);
  throw new BufferError(
    `Expected a writable row-major tensor at the start of a GPUBuffer of ${need.isExact ? '' : 'at least '}${need.size} bytes ` +
      `for ${need.library}; allow a copy on the device`,
  );
}

/** A reference to a storage, which no scope() ends. */
function lendStorage(storage: GpuStorage): LentBuffer {
  const { gpuBuffer, gpuDevice } = storage;
  let isHeld = true;
  const release = () => {
    if (!isHeld) return;
    isHeld = false;
    storage.release();
  };
  storage.refs++;
  return { gpuBuffer, gpuDevice, release, isGiven: false };
}

function copyForLibrary(tensor: Tensor, gpuDevice: GpuDevice, need: BufferNeed): LentBuffer {
  const { size } = need;
  // The package's own buffers have this size, and may be reused.
  if (need.acquire === undefined && size === Math.max(16, Math.ceil(tensor.nbytes / 16) * 16)) {
    const packed = tensor.copy();
    try {
      return lendStorage(descriptorOf(packed).storage as GpuStorage);
    } finally {
      packed.dispose();
    }
  }
  const { gpuBuffer, release } = need.acquire?.() ?? makeBuffer(gpuDevice, size);
  try {
    const copy = wrapBuffer(gpuBuffer, gpuDevice, tensor.dtype, tensor.shape, () => {});
    copy.copyFrom(tensor);
    copy.dispose();
    return { gpuBuffer, gpuDevice, release, isGiven: need.acquire !== undefined };
  } catch (error) {
    release();
    throw error;
  }
}

function makeBuffer(gpuDevice: GpuDevice, size: number) {
  const usage = Usage.storage | Usage.copySource | Usage.copyTarget;
  const gpuBuffer = gpuDevice.createBuffer({ size, usage });
  return { gpuBuffer, release: () => gpuBuffer.destroy() };
}

const keptFor = new WeakMap<object, GpuStorage>();

export function keepUntilCollected(user: object, { gpuBuffer, gpuDevice, release }: LentBuffer): void {
  keptFor.set(user, new GpuStorage(gpuBuffer, gpuDevice, gpuBuffer.size, release));
}

export function checkDevice(tensor: Tensor, gpuDevice: object, library: string): void {
  if (tensor.on(gpuDevice as GPUDeviceLike)) return;
  const wanted = deviceOfGPU(gpuDevice).name;
  throw new UnsupportedDeviceError(
    tensor.device,
    `Expected a tensor on '${wanted}', the GPUDevice of ${library}, but this one is on '${tensor.device}'; ` +
      'use one GPUDevice for all libraries, or copy it: await x.toAsync(gpuDevice, { stage: true })',
  );
}
