/**
 * Loads libtvm_ffi, once for the process, and attaches this thread to it.
 *
 * @module
 */

import { ArgumentTypeError, ArgumentValueError, LoadError } from '../errors.js';
import { isSameFile, native } from '../native/load.js';
import { checkOptions } from '../options.js';
import type { FFIBinding } from './binding.js';
import { operations } from './call-operations.js';
import { candidates } from './find.js';

/** The native functions for this thread, undefined before the first call of {@link library}, after which it is used. */
export let ffi: FFIBinding;

/** Loads libtvm_ffi from `path`, or from the usual places, unless this thread already has it. */
export function library(path?: string): FFIBinding {
  if (ffi !== undefined) return ffi;
  const binding = native();
  const tried: string[] = [];
  for (const candidate of candidates(path)) {
    if ('missing' in candidate) {
      tried.push(`${candidate.from}: ${candidate.missing}`);
      continue;
    }
    const made = binding.loadTvmFfi(candidate.path) ?? binding.attachTvmFfi<FFIBinding>(operations);
    if (typeof made !== 'string') {
      ffi = { ...made }; // a copy; native/load.ts explains why
      return ffi;
    }
    tried.push(`${candidate.from}: ${candidate.path}: ${made}`);
  }
  throw new LoadError('libtvm_ffi, the library of TVM-FFI', tried, [
    'install it with "pip install apache-tvm-ffi" into .venv or into the active virtual environment',
    'or name the folder it is in with the environment variable TVM_FFI_LIBDIR, or the file with loadLibrary({ path })',
    'nothing else in this package needs it',
  ]);
}

export interface LoadOptions {
  /** The path of the library. By default the usual places are tried. */
  path?: string;
}

/**
 * Loads libtvm_ffi, as every other function here does on first use. Returns the path. The process has one copy of the
 * library, so a path to another file than the loaded one throws.
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
