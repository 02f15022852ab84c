/**
 * Loads libtvm_ffi, once for the process, and attaches this thread to it.
 *
 * @module
 */

import { ArgumentTypeError, LoadError } from '../errors.js';
import { native } from '../native/load.js';
import type { FFIBinding } from './binding.js';
import { callBuffer } from './call-frame.js';
import { candidates } from './find.js';

/** The functions of this thread. Only code that runs after {@link library} may use it. */
export let ffi: FFIBinding;

let attached: FFIBinding | null = null;
let dispatch: (() => void) | null = null;

/** Names what runs when native code calls a JavaScript function. Done before the library is loaded. */
export function setDispatcher(dispatcher: () => void): void {
  dispatch = dispatcher;
}

export interface LoadOptions {
  /** The file itself; without it the usual places are tried. */
  path?: string;
}

/** Loads libtvm_ffi unless that has been done. The copy that the process has already is used, whatever the path. */
export function library(options: LoadOptions = {}): FFIBinding {
  const { path } = options;
  if (path !== undefined && typeof path !== 'string') throw new ArgumentTypeError('path', 'a string', path);
  if (attached !== null) return attached;
  const binding = native();
  const tried: string[] = [];
  for (const { path: file, from } of candidates(path)) {
    const problem = binding.loadTvmFfi(file);
    if (problem === undefined) {
      // Copied, for the reason that native/load.ts gives.
      ffi = { ...binding.attachTvmFfi<FFIBinding>({ frame: callBuffer, onCall: dispatch as () => void }) };
      attached = ffi;
      return ffi;
    }
    tried.push(`${file} (${from}): ${problem}`);
  }
  throw new LoadError('libtvm_ffi, the library of TVM-FFI', tried, [
    'install it with "pip install apache-tvm-ffi" into .venv or into the active virtual environment',
    'or name the folder it is in with the environment variable TVM_FFI_LIBDIR, or the file with loadLibrary({ path })',
    'nothing else in this package needs it',
  ]);
}
