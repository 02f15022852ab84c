/** Errors that the driver reports. */

import { DLPackError } from '../errors.js';

declare module '../errors.js' {
  interface DLPackErrors {
    /** An error of the CUDA driver. */
    CudaError: CudaError;
  }
}

/**
 * The CUDA driver reported an error. `code` and `cudaName` are the driver's: 2 and `'CUDA_ERROR_OUT_OF_MEMORY'`.
 *
 * @example
 * ```ts
 * import { isDLPackError, Tensor } from 'dlpack';
 * import 'dlpack/cuda';
 * try {
 *   Tensor.empty([2], 'float32', { device: 'cuda:9' });
 * } catch (error) {
 *   if (!isDLPackError(error, 'CudaError')) throw error;
 *   console.log(error.code, error.cudaName); // 101 CUDA_ERROR_INVALID_DEVICE
 * }
 * ```
 */
export class CudaError extends DLPackError {
  readonly tag = 'CudaError';
  /** The number of the error. */
  readonly code: number;
  /** Its name in the driver, such as `CUDA_ERROR_OUT_OF_MEMORY`. */
  readonly cudaName: string;

  constructor(what: string, code: number, cudaName: string, text: string) {
    super(`Expected ${what} but the CUDA driver answered ${cudaName}: ${text}${hints[cudaName] ?? ''}`);
    this.code = code;
    this.cudaName = cudaName;
  }
}

const hints: Readonly<Record<string, string>> = {
  CUDA_ERROR_OUT_OF_MEMORY:
    '; dispose unused tensors, or release the memory that the pool keeps with emptyCache() of dlpack/debug',
  CUDA_ERROR_INVALID_DEVICE: '; devices() lists the devices',
  CUDA_ERROR_CAPTURED_EVENT: '; the event is part of a graph, and is recorded when the graph runs',
  CUDA_ERROR_STREAM_CAPTURE_ISOLATION:
    '; a graph cannot wait for work outside of it, so wait for that work before the capture',
  CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED:
    '; a stream is being captured into a graph, and this operation cannot be part of a graph',
};
