/** Functions that libtvm_ffi itself registers. */

import { ffi } from '../library.js';
import { TVMFFIError } from '../objects/errors.js';

const builtins = new Map<string, number>();

/**
 * A function that libtvm_ffi itself registers; native/tvm_ffi/calls/builtins.cc lists them. It stays the same even if a
 * program replaces or removes the function of this name.
 */
export function builtin(name: string): number {
  let pointer = builtins.get(name);
  if (pointer === undefined) {
    pointer = ffi.getBuiltin(name);
    if (pointer === 0) throw new TVMFFIError('RuntimeError', `This libtvm_ffi has no global function '${name}'`);
    builtins.set(name, pointer);
  }
  return pointer;
}
