/** The allocator: provides memory for the tensors that kernels return. */

import { type Device, type DeviceInfo, deviceFromType, parseDevice } from '../../device.js';
import { type DType, type DTypeInfo, dtypeFromCode, parseDType } from '../../dtype.js';
import { ArgumentTypeError, BufferError } from '../../errors.js';
import { checkShape } from '../../layout.js';
import { takePushed } from '../../native/exchange/import.js';
import { Status } from '../../native/wire/constants.js';
import { errorOfTensor } from '../../native/wire/status.js';
import { writeTensor } from '../../native/wire/tensor.js';
import { enter, leave } from '../../native/wire/wire.js';
import { WireHeader } from '../../native/wire/wire-layout.js';
import { Descriptor } from '../../storage/descriptor.js';
import { findLayout } from '../../storage/layouts.js';
import { BufferStorage } from '../../storage/storage.js';
import { Tensor } from '../../tensor.js';
import { descriptorOf } from '../../view.js';
import type { DataType, DeviceValue } from '../codec/values.js';
import { ffi } from '../library.js';
import { library } from '../native-values.js';
import { TVMFFIError, takeRaised } from '../objects/errors.js';
import { keep } from '../objects/host-values.js';
import { TensorAllocateRequest } from '../wire-layout.js';

/** Makes a tensor for a kernel. Runs on this thread, inside the call of the kernel. */
export type TensorAllocator = (shape: readonly number[], dtype: DType, device: Device) => Tensor;

let allocator: TensorAllocator | null = null;
/** The number of {@link allocate} for native code; 0 before the first use. */
let allocateNumber = 0;
/** True while kernels get memory of this package. */
let usesOwn = true;

/**
 * Sets the allocator that `TVMFFIEnvTensorAlloc` uses inside kernels that this thread calls: a JavaScript function, the
 * address of a `DLPackManagedTensorAllocator` (unsafe, because the address is trusted), or null for this package's own.
 * It is set only during a call, so other hosts in the process keep theirs.
 *
 * @param next - `(shape, dtype, device) => Tensor`, which runs inside the call of the kernel; the address of a C
 *   allocator; or null for this package's own.
 * @throws ArgumentTypeError for anything else, and LoadError without libtvm_ffi.
 * @example
 * ```ts
 * import { Tensor } from 'dlpack';
 * import { fromEnvAlloc, setAllocator } from 'dlpack/tvm-ffi';
 * setAllocator((shape, dtype) => Tensor.zeros(shape, dtype)); // for kernels that allocate their results
 * console.log(fromEnvAlloc([3], 'int32').toArray()); // [0, 0, 0]
 * setAllocator(null);
 * ```
 */
export function setAllocator(next: TensorAllocator | bigint | null): void {
  if (next !== null && typeof next !== 'function' && typeof next !== 'bigint') {
    throw new ArgumentTypeError('allocator', 'a function, the address of a C allocator, or null', next);
  }
  library();
  allocator = typeof next === 'function' ? next : null;
  if (allocator !== null && allocateNumber === 0) allocateNumber = keep(allocate);
  ffi.setAllocator(typeof next === 'bigint' ? next : 0n, allocator === null ? 0 : allocateNumber);
  usesOwn = next === null;
}

/**
 * Allocates a tensor in uninitialised memory from the allocator that kernels use: see `setAllocator`.
 *
 * @param shape - The lengths of the axes.
 * @param dtype - The element type.
 * @param device - Where the memory is; the host when absent.
 * @returns A tensor that owns its memory.
 * @throws ArgumentTypeError or ArgumentValueError for an impossible shape, and UnsupportedDTypeError or
 *   UnsupportedDeviceError for an unknown dtype or device.
 * @throws BufferError if the JavaScript function returned another tensor. What it throws passes unchanged; a C
 *   allocator throws a TVMFFIError.
 * @throws OutOfMemoryError if there is not enough memory.
 * @example
 * ```ts
 * import { fromEnvAlloc } from 'dlpack/tvm-ffi';
 * console.log(fromEnvAlloc([2, 3], 'float32').shape); // [2, 3]
 * ```
 */
export function fromEnvAlloc<D extends DType>(shape: readonly number[], dtype: D, device: Device = 'cpu'): Tensor<D> {
  if (usesOwn) return Tensor.empty(shape, dtype, { device });
  return new Tensor<D>(allocateLikeKernels(checkShape(shape), parseDType(dtype), parseDevice(device)));
}

/** Allocates for JavaScript what a kernel would get. */
function allocateLikeKernels(shape: readonly number[], dtype: DTypeInfo, device: DeviceInfo): Descriptor {
  const nothing = new BufferStorage(new ArrayBuffer(0), 0, 0);
  const slot = enter(TensorAllocateRequest.WORDS + 2 * shape.length);
  try {
    const at = TensorAllocateRequest.tensorAt(slot);
    writeTensor(at, new Descriptor(nothing, findLayout(dtype, device, shape, null, 0), 0), 0, 0);
    WireHeader.setSlot(slot);
    ffi.allocTensor();
    if (TensorAllocateRequest.status(slot) !== 0) throw takeRaised();
    const problem = TensorAllocateRequest.problem(slot);
    if (problem !== Status.ok) throw errorOfTensor(problem, at);
    return takePushed();
  } finally {
    leave(slot);
  }
}

/** Answers a kernel, whose arguments are the dtype, the device and the lengths of the axes. */
function allocate(dtype: unknown, device: unknown, ...shape: unknown[]): Tensor {
  if (allocator === null) throw new TVMFFIError('RuntimeError', 'Expected an allocator but none is set');
  const { code, bits, lanes } = dtype as DataType;
  const { name } = dtypeFromCode(code, bits, lanes);
  const { type, id } = device as DeviceValue;
  const { name: place } = deviceFromType(type, id);
  const lengths = shape.slice() as number[];
  const tensor: unknown = allocator(shape as number[], name, place);
  if (!(tensor instanceof Tensor)) throw new ArgumentTypeError('the result of the allocator', 'a Tensor', tensor);
  const made = descriptorOf(tensor);
  // Check the tensor, because the kernel writes as if it had the memory it asked for.
  const isAsked =
    made.dtype.name === name &&
    made.device.name === place &&
    made.shape.length === lengths.length &&
    made.shape.every((length, axis) => length === lengths[axis]) &&
    made.isContiguous &&
    !made.isReadOnly;
  if (!isAsked) {
    throw new BufferError(
      `Expected a writable row-major tensor of ${name} [${lengths.join(', ')}] on '${place}' from the allocator but received ` +
        `${made.dtype.name} [${made.shape.join(', ')}] with strides [${made.strides.join(', ')}] on '${made.device.name}'`,
    );
  }
  return tensor;
}
