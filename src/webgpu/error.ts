/** Errors of WebGPU devices. */

import { DLPackError } from '../errors.js';

declare module '../errors.js' {
  interface DLPackErrors {
    /** A GPUDevice that was lost. */
    DeviceLostError: DeviceLostError;
  }
}

/**
 * The GPUDevice was lost or destroyed, and its memory with it. `reason` is WebGPU's: `'destroyed'` or `'unknown'`.
 *
 * @example
 * ```ts fragment: needs a GPUDevice
 * import { isDLPackError } from 'dlpack';
 * import 'dlpack/webgpu';
 * try {
 *   await x.toAsync('cpu');
 * } catch (error) {
 *   if (!isDLPackError(error, 'DeviceLostError')) throw error;
 *   console.log(error.device, error.reason); // webgpu:0 destroyed
 * }
 * ```
 */
export class DeviceLostError extends DLPackError {
  readonly tag = 'DeviceLostError';
  /** The device's name in this package, such as `'webgpu:0'`. */
  readonly device: string;
  /** WebGPU's reason: `'destroyed'` or `'unknown'`. */
  readonly reason: string;

  constructor(device: string, reason: string, message: string) {
    super(
      `The GPUDevice of '${device}' was lost (${reason})${message && `: ${message}`}; its tensors no longer exist. ` +
        'Request a new device and make the tensors again',
    );
    this.device = device;
    this.reason = reason;
  }
}
