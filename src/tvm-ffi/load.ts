/**
 * Loading on request: what every other function here does by itself when it is first used.
 *
 * @module
 */

import { checkOptions } from '../errors.js';
import { type LoadOptions, library } from './library.js';

export type { LoadOptions } from './library.js';

/** Loads libtvm_ffi from a path, or from the usual places. Returns the file: the first one loaded serves the process. */
export function loadLibrary(options: LoadOptions = {}): string {
  checkOptions(options, "{ path: '/path/to/libtvm_ffi.so' }");
  return library(options).path;
}
