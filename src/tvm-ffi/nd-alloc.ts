/** Tensors in memory from a user's allocator. */

import { type Device, type DeviceInfo, parseDevice } from '../device.js';
import { type DType, type DTypeInfo, parseDType } from '../dtype.js';
import { ArgumentTypeError, BufferError, LayoutError } from '../errors.js';
import { checkShape, checkStrides, rowMajorStrides, spanOf } from '../layout.js';
import { getBackend } from '../storage/backend.js';
import { Descriptor } from '../storage/descriptor.js';
import { findLayout } from '../storage/layouts.js';
import { BufferStorage, bufferLength, type Storage } from '../storage/storage.js';
import { Tensor } from '../tensor.js';

/** Describes the tensor to allocate. */
export interface AllocRequest {
  /** The lengths of the axes. */
  readonly shape: readonly number[];
  /** In elements. */
  readonly strides: readonly number[];
  /** The element type. */
  readonly dtype: DType;
  /** Where the memory must be. */
  readonly device: Device;
  /** Bytes from the first to the last byte of the elements. */
  readonly nbytes: number;
}

/** Memory: a native address (trusted), or a JavaScript buffer. */
export type AllocatedData = bigint | ArrayBufferLike | ArrayBufferView;

/** A user's allocator. `freeData` is called exactly once for each `allocData` that returned. */
export interface NDAllocator {
  /**
   * Allocates the memory of a tensor.
   *
   * @param request - What is needed. It is frozen.
   * @returns The memory, which must have room for the request.
   */
  allocData(request: AllocRequest): AllocatedData;
  /**
   * Receives the same request and the value that `allocData` returned for it.
   *
   * @param request - The object that `allocData` received.
   * @param data - What `allocData` returned for it.
   */
  freeData(request: AllocRequest, data: AllocatedData): void;
}

/**
 * Makes a row-major tensor in uninitialised memory from your allocator. `freeData` is called once, when the last owner
 * releases the memory.
 *
 * @param allocator - Allocates and frees.
 * @param shape - The lengths of the axes.
 * @param dtype - The element type.
 * @param device - Where the memory is; the host when absent.
 * @returns A tensor that shares the memory of the allocator.
 * @throws ArgumentTypeError for an allocator without both functions, or a result that is no memory.
 * @throws BufferError for memory that is too small, misaligned, or not on the device.
 * @throws ArgumentTypeError, ArgumentValueError or LayoutError for an impossible shape, and UnsupportedDTypeError or
 *   UnsupportedDeviceError for an unknown dtype or device. What the allocator throws passes unchanged.
 * @example
 * ```ts
 * import { fromNDAlloc } from 'dlpack/tvm-ffi';
 * const pool = { allocData: ({ nbytes }: { nbytes: number }) => new ArrayBuffer(nbytes), freeData: () => {} };
 * const x = fromNDAlloc(pool, [2, 3], 'float32');
 * console.log(x.nbytes); // 24
 * ```
 */
export function fromNDAlloc<D extends DType>(
  allocator: NDAllocator,
  shape: readonly number[],
  dtype: D,
  device: Device = 'cpu',
): Tensor<D> {
  return fromNDAllocStrided(allocator, shape, rowMajorStrides(checkShape(shape)), dtype, device);
}

/**
 * Makes a tensor with any strides in memory from your allocator, as `fromNDAlloc` does.
 *
 * @param allocator - Allocates and frees.
 * @param shape - The lengths of the axes.
 * @param strides - The strides, in elements.
 * @param dtype - The element type.
 * @param device - Where the memory is; the host when absent.
 * @returns A tensor that shares the memory of the allocator.
 * @throws As `fromNDAlloc` does.
 */
export function fromNDAllocStrided<D extends DType>(
  allocator: NDAllocator,
  shape: readonly number[],
  strides: readonly number[],
  dtype: D,
  device: Device = 'cpu',
): Tensor<D> {
  const lengths = checkShape(shape);
  const steps = checkStrides(strides, lengths);
  return new Tensor<D>(allocateWith(allocator, lengths, steps, parseDType(dtype), parseDevice(device)));
}

/** Allocates memory with `allocator` for a tensor of checked shape and strides. */
function allocateWith(
  allocator: NDAllocator,
  shape: readonly number[],
  strides: readonly number[],
  dtype: DTypeInfo,
  device: DeviceInfo,
): Descriptor {
  if (typeof allocator?.allocData !== 'function' || typeof allocator.freeData !== 'function') {
    throw new ArgumentTypeError('allocator', 'an object with allocData and freeData', allocator);
  }
  const span = spanOf(shape, strides);
  const bits = span === null ? 0 : (span.high - span.low) * dtype.itemBits + dtype.itemBits;
  const offset = span === null ? 0 : -span.low * dtype.itemBits;
  if (!Number.isSafeInteger(bits)) {
    throw new LayoutError('Expected memory within 2^53 - 1 bits but shape and strides reach beyond', shape, strides);
  }
  if ((offset & 7) !== 0) {
    throw new LayoutError(
      `Expected ${dtype.name} elements that start on a byte but negative strides do not`,
      shape,
      strides,
    );
  }
  const request: AllocRequest = Object.freeze({
    shape: Object.freeze(shape.slice()),
    strides: Object.freeze(strides.slice()),
    dtype: dtype.name as DType,
    device: device.name,
    nbytes: Math.ceil(bits / 8),
  });
  const data = allocator.allocData(request);
  let isHeld = true;
  const free = () => {
    if (!isHeld) return;
    isHeld = false;
    allocator.freeData(request, data);
  };
  try {
    const storage = storageOver(data, request.nbytes, dtype.alignment, device, free);
    return new Descriptor(storage, findLayout(dtype, device, shape, strides, 0), offset);
  } catch (error) {
    free();
    throw error;
  }
}

function storageOver(
  data: AllocatedData,
  nbytes: number,
  alignment: number,
  device: DeviceInfo,
  free: () => void,
): Storage {
  if (typeof data === 'bigint') {
    const backend = getBackend();
    if (backend === null) {
      throw new BufferError('Expected a buffer from allocData but received an address, which needs native code');
    }
    if (data === 0n && nbytes > 0) throw new BufferError('Expected memory from allocData but received address 0');
    return backend.importAddress(data, nbytes, free);
  }
  const isView = ArrayBuffer.isView(data);
  const buffer = isView ? data.buffer : data;
  if (bufferLength(buffer) === null)
    throw new ArgumentTypeError('the result of allocData', 'an address or a buffer', data);
  const length = isView ? data.byteLength : buffer.byteLength;
  if (device.kind !== 'cpu') {
    throw new BufferError(`Expected an address on '${device.name}' from allocData but received a JavaScript buffer`);
  }
  if (length < nbytes) throw new BufferError(`Expected ${nbytes} bytes from allocData but received ${length}`);
  const start = isView ? data.byteOffset : 0;
  if (start % alignment !== 0) {
    throw new BufferError(
      `Expected memory aligned to ${alignment} bytes from allocData but it starts at byte ${start}`,
    );
  }
  return new BufferStorage(buffer, start, nbytes, free);
}
