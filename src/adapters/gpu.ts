/**
 * GPU buffers of libraries: tensors over them, and the buffers of tensors for a library.
 *
 * @module
 */

import { DeviceType, deviceOfGPU, type GPUDeviceLike } from '../device.js';
import { type DType, parseDType } from '../dtype.js';
import { ArgumentTypeError, BufferError, UnsupportedDeviceError } from '../errors.js';
import { fromDLPack } from '../from-dlpack.js';
import { checkShape, rowMajorStrides } from '../layout.js';
import { DLPACK_DEVICE, type DLPackProducer, type GPUData } from '../protocol/managed.js';
import { Descriptor } from '../storage/descriptor.js';
import { getDeviceBackend } from '../storage/device-backend.js';
import { type GPUBufferLike, GpuStorage } from '../storage/storage.js';
import { Tensor } from '../tensor.js';
import { descriptorOf } from '../view.js';
import { type AdaptOptions, copyOf, type LendOptions } from './share.js';

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
  const lengths = checkShape(shape);
  const storage = new GpuStorage(gpuBuffer, gpuDevice, Number(gpuBuffer.size), release);
  const strides = rowMajorStrides(lengths);
  const descriptor = new Descriptor(storage, parseDType(dtype), deviceOfGPU(gpuDevice), lengths, strides, 0, 0);
  try {
    return new Tensor(descriptor.checkBounds());
  } catch (error) {
    storage.refs = 0; // the caller keeps the buffer, so the collector must not release it
    throw error;
  }
}

/** A tensor that takes over a library's object in GPU memory. A copy leaves the object to the caller. */
export function takeGpuBuffer(
  gpuBuffer: GPUBufferLike,
  options: AdaptOptions | undefined,
  dtype: DType,
  shape: readonly number[],
  release: () => void,
): Tensor {
  const isCopy = options?.copy === true;
  const tensor = fromGpuBuffer(gpuBuffer, options?.gpuDevice, dtype, shape, isCopy ? () => {} : release);
  return isCopy ? copyOf(tensor) : tensor;
}

/** What a library accepts as the memory of a tensor. No library takes an offset. */
export interface BufferNeed {
  /** The library, for messages. */
  readonly library: string;
  /** Bytes of the buffer. */
  readonly size: number;
  /** The library takes all bytes of the buffer for elements. */
  readonly isExact: boolean;
  /** A buffer of the library for a copy, which the library then owns. */
  acquire?(): { readonly gpuBuffer: GPUBufferLike; release(): void };
}

/** The GPUBuffer that a library gets, and the function that releases it. */
export interface LentBuffer extends GPUData {
  /** The library owns the buffer, so `release` is only for errors. */
  readonly isGiven: boolean;
  release(): void;
}

/** Lends the GPUBuffer of a tensor to a library, or a copy on the same device where the buffer does not fit. */
export function lendGpuBuffer(tensor: Tensor, need: BufferNeed, options?: LendOptions): LentBuffer {
  if (options?.gpuDevice !== undefined) checkGpuDevice(tensor, options.gpuDevice, need.library);
  const { bitOffset, isContiguous, isReadOnly, device, storage } = descriptorOf(tensor).shared();
  const { gpuBuffer, gpuDevice } = storage as GpuStorage;
  const isFit = need.isExact ? gpuBuffer.size === need.size : gpuBuffer.size >= need.size;
  if (isFit && bitOffset === 0 && isContiguous && !isReadOnly && options?.copy !== true) {
    return lendStorage(storage as GpuStorage);
  }
  if (options?.copy !== false && getDeviceBackend(device) !== null) return copyForLibrary(tensor, gpuDevice, need);
  throw new BufferError(
    `Expected a writable row-major tensor at the start of a GPUBuffer of ${need.isExact ? '' : 'at least '}${need.size} bytes ` +
      `for ${need.library}; allow a copy on the device, which needs import "dlpack/webgpu"`,
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

const keptFor = new WeakMap<object, GpuStorage>();

/** Keeps a lent buffer until the collector finds that `user` no longer exists. */
export function keepUntilCollected(user: object, { gpuBuffer, gpuDevice, release }: LentBuffer): void {
  keptFor.set(user, new GpuStorage(gpuBuffer, gpuDevice, gpuBuffer.size, release));
}

interface BufferMaker {
  createBuffer(descriptor: { size: number; usage: number }): GPUBufferLike & { destroy(): void };
}

/** Bits of `GPUBufferUsage`, which is not a global in every runtime. */
export const STORAGE_AND_COPIES = 128 | 8 | 4;

function makeBuffer(gpuDevice: BufferMaker, size: number) {
  const gpuBuffer = gpuDevice.createBuffer({ size, usage: STORAGE_AND_COPIES });
  return { gpuBuffer, release: () => gpuBuffer.destroy() };
}

function copyForLibrary(tensor: Tensor, gpuDevice: object, need: BufferNeed): LentBuffer {
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
  const { gpuBuffer, release } = need.acquire?.() ?? makeBuffer(gpuDevice as BufferMaker, size);
  try {
    const copy = fromGpuBuffer(gpuBuffer, gpuDevice, tensor.dtype, tensor.shape, () => {});
    copy.copyFrom(tensor);
    copy.dispose();
    return { gpuBuffer, gpuDevice, release, isGiven: need.acquire !== undefined };
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
