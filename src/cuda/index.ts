/**
 * `dlpack/cuda`: tensors on NVIDIA devices. The driver is loaded on first use; without one, `devices()` is empty.
 *
 * @module
 */

import '../index.node.js';
import { register } from './backend.js';

register();

export type { CudaArrayInterface } from './array-entries.js';
export {
  type CudaArrayExportOptions,
  type TensorCudaArrayInterface,
  toCudaArrayInterface,
} from './array-export.js';
export {
  asCudaArray,
  asMaskedCudaArray,
  type CudaArrayOptions,
  fromCudaArrayInterface,
  type MaskedCudaArray,
} from './array-interface.js';
export {
  type CudaDevice,
  devices,
  memoryInfo,
  synchronize,
} from './devices.js';
export { type DriverOptions, loadDriver } from './driver.js';
export { CudaError } from './error.js';
export { CudaEvent, type CudaEventOptions } from './event.js';
export { type PointerAttributes, pointerAttributes } from './pointer.js';
export { Stream, type StreamOptions } from './stream.js';
