/** Loads libtvm_ffi on request. */

import { checkOptions } from '../base/options.js';
import { ArgumentTypeError, ArgumentValueError } from '../errors.js';
import { isSameFile } from '../native/load/load.js';
import { library } from './native-values.js';

/** Which library is loaded. */
export interface LoadOptions {
  /** The path of the library. By default the usual places are tried. */
  path?: string;
}

/**
 * Loads libtvm_ffi, as every other function here does on first use. The process has one copy of the library, so a path
 * to another file than the loaded one throws.
 *
 * @param options - The file (`path`); the usual places when absent.
 * @returns The path of the loaded file.
 * @throws ArgumentTypeError for a path that is no string, and ArgumentValueError if another file is loaded already.
 * @throws LoadError if there is no usable library. It lists each place with the reason.
 * @example
 * ```ts
 * import { loadLibrary } from 'dlpack/tvm-ffi';
 * console.log(loadLibrary().includes('tvm_ffi')); // true
 * ```
 */
export function loadLibrary(options: LoadOptions = {}): string {
  checkOptions(options, { path: true }, "{ path: '/path/to/libtvm_ffi.so' }");
  const { path } = options;
  if (path !== undefined && typeof path !== 'string') throw new ArgumentTypeError('path', 'a string', path);
  const loaded = library(path).path;
  if (path !== undefined && !isSameFile(path, loaded)) {
    throw new ArgumentValueError('path', `the libtvm_ffi that this process has loaded already, ${loaded}`, path);
  }
  return loaded;
}
