/** Tensors over GPUBuffers that a program has, and the GPUBuffers of tensors. */

import { checkOptions, type OptionNames } from '../base/options.js';
import { deviceOfGPU, type GPUDeviceLike, parseDevice } from '../device.js';
import { type DType, parseDType } from '../dtype.js';
import { ArgumentTypeError, checkCount, isUsable, UnsupportedDeviceError } from '../errors.js';
import { checkShape, checkStrides, rowMajorStrides } from '../layout.js';
import { Descriptor, Flag } from '../storage/descriptor.js';
import { findLayout } from '../storage/layouts.js';
import { type GPUBufferLike, GpuStorage } from '../storage/storage.js';
import { Tensor } from '../tensor.js';
import { descriptorOf, type TensorView } from '../view.js';
import { gpuStorage } from './memory.js';

/** What lies in a GPUBuffer. */
export interface FromGPUBufferOptions<D extends DType> {
  /** The device that made the buffer. A GPUBuffer does not name its device. */
  device: GPUDeviceLike;
  /** The element type. */
  dtype: D;
  /** The lengths of the axes. */
  shape: readonly number[];
  /** In elements; row-major when absent. */
  strides?: readonly number[];
  /** Bytes from the start of the buffer to the first element; 0 when absent. */
  byteOffset?: number;
  /** true: the tensor refuses writes. The default is false. */
  readonly?: boolean;
  /** Called once, when the last owner releases the tensor: `() => buffer.destroy()`. The caller keeps the buffer otherwise. */
  release?: () => void;
}

const names: OptionNames<FromGPUBufferOptions<DType>> = {
  device: true,
  dtype: true,
  shape: true,
  strides: true,
  byteOffset: true,
  readonly: 'boolean',
  release: true,
};

/**
 * Makes a tensor over a GPUBuffer, without a copy.
 *
 * @param buffer - The buffer. It stays yours unless you pass `release`.
 * @param options - The GPUDevice that made it, the dtype, the shape, the strides (row-major when absent), the first
 *   byte (0 when absent), whether writes are refused (false when absent), and how it is released.
 * @returns A tensor that shares the buffer.
 * @throws ArgumentTypeError for anything but a GPUBuffer and its GPUDevice.
 * @throws ArgumentTypeError, ArgumentValueError or LayoutError for an impossible shape, elements outside of the buffer,
 *   or a first byte that the dtype does not allow.
 * @throws UnsupportedDTypeError for an unknown dtype.
 * @example
 * ```ts fragment: needs a GPUDevice
 * import { fromGPUBuffer } from 'dlpack/webgpu';
 * const x = fromGPUBuffer(buffer, { device, dtype: 'float32', shape: [2, 3], release: () => buffer.destroy() });
 * ```
 */
export function fromGPUBuffer<D extends DType>(buffer: GPUBufferLike, options: FromGPUBufferOptions<D>): Tensor<D> {
  const example = "{ device, dtype: 'float32', shape: [2, 3] }";
  if (!isUsable(buffer) || typeof buffer.size !== 'number' || typeof buffer.usage !== 'number') {
    throw new ArgumentTypeError('buffer', 'a GPUBuffer', buffer);
  }
  if (options === undefined) throw new ArgumentTypeError('options', `an object such as ${example}`, options);
  checkOptions(options, names, example);
  const { device, byteOffset = 0, release, strides: steps } = options; // read once, because getters may change
  if (typeof device !== 'object' || parseDevice(device).kind !== 'webgpu') {
    throw new ArgumentTypeError('device', 'the GPUDevice that made the buffer', device);
  }
  if (release !== undefined && typeof release !== 'function') {
    throw new ArgumentTypeError('release', 'a function', release);
  }
  const dtype = parseDType(options.dtype);
  const shape = checkShape(options.shape);
  const strides = steps === undefined ? rowMajorStrides(shape) : checkStrides(steps, shape);
  checkCount(byteOffset, 'byteOffset');
  const flags = options.readonly === true ? Flag.readonly : 0;
  const describe = (storage: GpuStorage): Descriptor =>
    new Descriptor(storage, findLayout(dtype, deviceOfGPU(device), shape, strides, flags), byteOffset * 8);
  // The caller keeps the buffer when a check fails, so check before a storage takes over the release.
  const unowned = describe(new GpuStorage(buffer, device, buffer.size)).checkBounds();
  return new Tensor<D>(release === undefined ? unowned : describe(gpuStorage(buffer, device, buffer.size, release)));
}

/** The GPUBuffer of a tensor, its GPUDevice, and the place of the first element. */
export interface GPUMemory {
  /** The buffer. */
  readonly buffer: GPUBufferLike;
  /** The GPUDevice that made the buffer. */
  readonly device: object;
  /** Bytes from the start of the buffer to the first element. */
  readonly byteOffset: number;
}

/**
 * Returns the memory of a tensor on WebGPU, for your own shaders. It is valid while the tensor is; the buffer must not
 * be destroyed or mapped.
 *
 * @param tensor - A tensor on WebGPU.
 * @returns The GPUBuffer, its GPUDevice, and the byte of the first element. The buffer is shared.
 * @throws UnsupportedDeviceError for a tensor that is not on WebGPU, and DisposedError for one that was disposed.
 * @example
 * ```ts fragment: needs a GPUDevice
 * import { gpuMemoryOf } from 'dlpack/webgpu';
 * const { buffer, byteOffset } = gpuMemoryOf(x);
 * ```
 */
export function gpuMemoryOf(tensor: TensorView): GPUMemory {
  const { storage, device, bitOffset } = descriptorOf(tensor);
  if (storage instanceof GpuStorage) {
    return { buffer: storage.gpuBuffer, device: storage.gpuDevice, byteOffset: Math.floor(bitOffset / 8) };
  }
  throw new UnsupportedDeviceError(
    device.name,
    `Expected a tensor on 'webgpu' but this one is on '${device.name}'; copy it there: x.to(gpuDevice)`,
  );
}
