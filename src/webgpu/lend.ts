/** GPUBuffers of other libraries as tensors, and GPUBuffers of tensors for other libraries. */

import type { BufferNeed, BufferOptions, GpuBuffers, LentBuffer } from '../adapters/gpu-buffers.js';
import { deviceOfGPU, type GPUDeviceLike } from '../device.js';
import { checkDType, type DType, parseDType } from '../dtype.js';
import { ArgumentTypeError, BufferError, UnsupportedDeviceError } from '../errors.js';
import { copyOf } from '../from-dlpack.js';
import { checkShape } from '../layout.js';
import { Descriptor } from '../storage/descriptor.js';
import { findLayout } from '../storage/layouts.js';
import { type GPUBufferLike, GpuStorage } from '../storage/storage.js';
import { Tensor } from '../tensor.js';
import { descriptorOf, sharedDescriptorOf } from '../view.js';
import { type GpuDevice, Usage } from './api.js';
import { stateOf } from './device-state.js';
import { gpuStorage } from './memory.js';

interface Wrapped {
  readonly gpuBuffer: GPUBufferLike;
  readonly gpuDevice: object | undefined;
  readonly dtype: DType;
  readonly shape: readonly number[];
  readonly release: () => void;
}

function wrapBuffer({ gpuBuffer, gpuDevice, dtype, shape, release }: Wrapped): Tensor {
  if (gpuDevice === undefined) {
    throw new ArgumentTypeError('gpuDevice', 'the GPUDevice to which the GPUBuffer belongs', gpuDevice);
  }
  const lengths = checkShape(shape);
  const [type, device, nbytes] = [parseDType(dtype), deviceOfGPU(gpuDevice), Number(gpuBuffer.size)];
  const describe = (storage: GpuStorage): Descriptor =>
    new Descriptor(storage, findLayout(type, device, lengths, null, 0), 0);
  // The caller keeps the buffer when a check fails, so check before a storage takes over the release.
  describe(new GpuStorage(gpuBuffer, gpuDevice, nbytes)).checkBounds();
  return new Tensor(describe(gpuStorage(gpuBuffer, gpuDevice, nbytes, release)));
}

export const takeBuffer: GpuBuffers['take'] = ({ options, release, ...taken }) => {
  const isCopied = options?.copy === true;
  const tensor = wrapBuffer({ ...taken, gpuDevice: options?.gpuDevice, release: isCopied ? () => {} : release });
  return isCopied ? copyOf(tensor) : tensor;
};

export const borrowBuffer: GpuBuffers['borrow'] = ({ read, dtype, shape, release, options, dtypes }) => {
  let tensor: Tensor;
  try {
    if (dtypes !== undefined) checkDType(dtype, dtypes, 'DLPack on WebGPU');
    const gpuBuffer = read();
    if (gpuBuffer == null) throw new BufferError('Expected a tensor with elements on WebGPU but it has no GPUBuffer');
    tensor = wrapBuffer({ gpuBuffer, gpuDevice: options?.gpuDevice, dtype, shape, release });
  } catch (error) {
    release();
    throw error;
  }
  return options?.copy === true ? copyOf(tensor) : tensor;
};

export const lendBuffer: GpuBuffers['lend'] = (tensor, need, options, make) => {
  if (need.dtypes !== undefined) checkDType(tensor.dtype, need.dtypes, `${need.library} on WebGPU`);
  for (const device of [options?.gpuDevice, need.gpuDevice]) if (device) checkDevice(tensor, device, need.library);
  const buffer = lentBuffer(tensor, need, options);
  try {
    return make(buffer);
  } catch (error) {
    buffer.release();
    throw error;
  }
};

function lentBuffer(tensor: Tensor, need: BufferNeed, options: BufferOptions | undefined): LentBuffer {
  const { bitOffset, isContiguous, isReadOnly, storage } = sharedDescriptorOf(tensor);
  const { gpuBuffer, gpuDevice } = storage as GpuStorage;
  // A library would get memory that no longer exists.
  if ('lost' in gpuDevice) stateOf(gpuDevice).checkAlive();
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
  return lent(gpuBuffer, gpuDevice, release, false);
}

/** What users of lent buffers hold, by the object whose end the collector reports. */
const keptFor = new WeakMap<object, GpuStorage>();

function lent(gpuBuffer: GPUBufferLike, gpuDevice: object, release: () => void, isGiven: boolean): LentBuffer {
  const keepFor = (user: object) => {
    if (!isGiven) keptFor.set(user, new GpuStorage(gpuBuffer, gpuDevice, gpuBuffer.size, release));
  };
  return { gpuBuffer, gpuDevice, release, isGiven, keepFor };
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
  const acquired = need.acquire?.() ?? makeBuffer(gpuDevice, size);
  const release = () => acquired.release();
  try {
    const { gpuBuffer } = acquired;
    const { dtype, shape } = tensor;
    const target = wrapBuffer({ gpuBuffer, gpuDevice, dtype, shape, release: () => {} });
    try {
      target.copyFrom(tensor);
    } finally {
      target.dispose();
    }
    return lent(gpuBuffer, gpuDevice, release, need.acquire !== undefined);
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

function checkDevice(tensor: Tensor, gpuDevice: object, library: string): void {
  if (tensor.isOn(gpuDevice as GPUDeviceLike)) return;
  const wanted = deviceOfGPU(gpuDevice).name;
  throw new UnsupportedDeviceError(
    tensor.device,
    `Expected a tensor on '${wanted}', the GPUDevice of ${library}, but this one is on '${tensor.device}'; ` +
      'use one GPUDevice for all libraries, or copy it: await x.toAsync(gpuDevice, { stage: true })',
  );
}
