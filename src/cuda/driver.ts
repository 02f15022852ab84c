/** Loads the CUDA driver, once for the process, and attaches this thread to it. */

import { checkOptions, type OptionNames } from '../base/options.js';
import { ArgumentTypeError, ArgumentValueError, LoadError } from '../errors.js';
import { isSameFile, native } from '../native/load/load.js';
import type { Answer, CudaBinding } from './binding.js';
import { CudaError } from './error.js';

let attached: CudaBinding | null = null;

/** Which driver is loaded. */
export interface DriverOptions {
  /** The path of the driver. The default is the variable `DLPACK_CUDA_DRIVER`, then the system's libcuda. */
  path?: string;
}

/** The library that native/platform/platform.h opens without a path. */
const systemDriver = process.platform === 'win32' ? 'nvcuda.dll' : 'libcuda.so.1';

const optionNames: OptionNames<DriverOptions> = { path: true };

/**
 * Loads the driver unless this process has one. Throws for a path that names another driver than the loaded one.
 *
 * @param options - `path`, the driver's file; `DLPACK_CUDA_DRIVER` or the system's driver when absent.
 * @throws LoadError if there is no driver. ArgumentTypeError if the path is no string, and ArgumentValueError if it
 *   names another driver than the loaded one.
 * @example
 * ```ts
 * import { loadDriver } from 'dlpack/cuda';
 * loadDriver(); // throws here, and not at the first tensor, if there is none
 * ```
 */
export function loadDriver(options: DriverOptions = {}): void {
  checkOptions(options, optionNames, "{ path: '/path/to/libcuda.so.1' }");
  const { path } = options;
  if (path !== undefined && typeof path !== 'string') throw new ArgumentTypeError('path', 'a string', path);
  const binding = attached ?? attach(path ?? process.env.DLPACK_CUDA_DRIVER ?? '');
  const loaded = binding.driverPath();
  if (path === undefined || isSameFile(path, loaded)) return;
  const name = loaded === '' ? "the system's driver" : `'${loaded}'`;
  throw new ArgumentValueError('path', `${name}, which this process has loaded,`, path);
}

function attach(path: string): CudaBinding {
  const binding = native();
  const problem = binding.loadCuda(path);
  const made = problem ?? binding.attachCuda<CudaBinding>();
  if (typeof made === 'string') {
    throw new LoadError(
      'a CUDA driver with a device',
      [`${path || systemDriver}: ${made}`],
      [
        'install the NVIDIA driver of this machine, and in a container allow its devices (docker run --gpus all)',
        'or name the library with DLPACK_CUDA_DRIVER or loadDriver({ path })',
        'nothing else in this package needs it',
      ],
    );
  }
  attached = made;
  return attached;
}

/** The native functions for this thread. Loads the driver on first use. */
export function cuda(): CudaBinding {
  return attached ?? attach(process.env.DLPACK_CUDA_DRIVER ?? '');
}

/** True once this thread has used the driver. */
export const isLoaded = (): boolean => attached !== null;

/** Throws unless the driver succeeded. `what` follows "Expected" in the message. */
export function check(status: number, what: string): void {
  if (status !== 0) throw driverError(status, what);
}

/** The results of a function. Throws as {@link check}. */
export function take<Results>(answer: Answer<Results>, what: string): Results {
  if (typeof answer === 'number') throw driverError(answer, what);
  return answer;
}

/** The error of a CUresult. */
export function driverError(code: number, what: string): CudaError {
  const [name, text] = cuda().describeError(code);
  return new CudaError(what, code, name, text);
}

/** CUDA_ERROR_NOT_READY: the queued work has not finished. */
export const NOT_READY = 600;
/** CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED */
export const CAPTURE_UNSUPPORTED = 900;

/** The number of devices; 0 if no driver can be loaded. */
export function countDevices(): number {
  try {
    return cuda().countDevices();
  } catch (error) {
    if (error instanceof LoadError) return 0;
    throw error;
  }
}
