/**
 * The allocator: where kernels get memory for the tensors they return.
 *
 * @module
 */

import type { Device } from '../device.js';
import type { DType } from '../dtype.js';
import { ArgumentTypeError } from '../errors.js';
import { Tensor } from '../tensor.js';
import { f64, OBJECT, u64 } from './call-frame.js';
import { TVMFFIError } from './errors.js';
import { ffi, library } from './library.js';
import type { DataType, DeviceValue } from './values.js';

/** Makes a tensor for a kernel. Runs on this thread, inside the call of the kernel. */
export type TensorAllocator = (shape: readonly number[], dtype: DType, device: Device) => Tensor;

let allocator: TensorAllocator | null = null;

/**
 * Names what `TVMFFIEnvTensorAlloc` uses inside kernels that this thread calls: a JavaScript function, the address of a
 * `DLPackManagedTensorAllocator` (unsafe: it is trusted), or null for this package's own. Other hosts in the process keep
 * theirs: it is set for the length of a call.
 */
export function setAllocator(next: TensorAllocator | bigint | null): void {
  if (next !== null && typeof next !== 'function' && typeof next !== 'bigint') {
    throw new ArgumentTypeError('allocator', 'a function, the address of a C allocator, or null', next);
  }
  library();
  allocator = typeof next === 'function' ? next : null;
  if (typeof next === 'bigint') u64[OBJECT] = next;
  else u64[OBJECT] = next === null ? 0n : 1n;
  ffi.setAllocator();
  f64[OBJECT] = 0;
}

/** Answers a kernel: dtype, device and the lengths of the axes. */
export function allocate([dtype, device, ...shape]: unknown[]): Tensor {
  if (allocator === null) throw new TVMFFIError('RuntimeError', 'Expected an allocator but none is set');
  const tensor: unknown = allocator(shape as number[], (dtype as DataType).name, (device as DeviceValue).name);
  if (!(tensor instanceof Tensor)) throw new ArgumentTypeError('the result of the allocator', 'a Tensor', tensor);
  return tensor;
}
