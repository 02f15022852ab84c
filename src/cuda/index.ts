/**
 * `dlpack/cuda`: tensors on NVIDIA devices. The driver is loaded on first use; without one, `devices()` is empty.
 *
 * @module
 */

import '../index.node.js';
import { register } from './backend.js';

register();

export type { CudaArrayInterface } from './arrays/array-entries.js';
export {
  type CudaArrayExportOptions,
  type TensorCudaArrayInterface,
  toCudaArrayInterface,
} from './arrays/array-export.js';
export {
  asCudaArray,
  asMaskedCudaArray,
  type CudaArrayOptions,
  fromCudaArrayInterface,
  type MaskedCudaArray,
} from './arrays/array-interface.js';
export {
  type CudaDevice,
  devices,
  memoryInfo,
  synchronize,
} from './devices.js';
export { type DriverOptions, loadDriver } from './driver.js';
export { CudaError } from './error.js';
export { type PointerAttributes, pointerAttributes } from './memory/pointer.js';
export { CudaEvent, type CudaEventOptions } from './streams/event.js';
export { Stream, type StreamOptions } from './streams/stream.js';
