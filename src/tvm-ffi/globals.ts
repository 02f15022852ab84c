/**
 * Global functions by name.
 *
 * @module
 */

import { f64, i32, OBJECT, STATUS, Type } from './call-frame.js';
import { TVMFFIError, takeRaised } from './errors.js';
import { library } from './library.js';
import { adoptObject, type ObjectHandle } from './objects.js';

/** The function registered under a name, or null. */
export function findGlobal(name: string): ObjectHandle | null {
  library().getGlobal(name);
  if (i32[STATUS] !== 0) throw takeRaised();
  const pointer = f64[OBJECT] as number;
  return pointer === 0 ? null : adoptObject(pointer, Type.function);
}

const builtins = new Map<string, number>();

/**
 * A function that libtvm_ffi itself registers; native/tvm_ffi/builtins.cc lists them. A program that registers another function
 * under the name, or removes it, does not change this one.
 */
export function builtin(name: string): number {
  let pointer = builtins.get(name);
  if (pointer === undefined) {
    library().getBuiltin(name);
    pointer = f64[OBJECT] as number;
    if (pointer === 0) throw new TVMFFIError('RuntimeError', `This libtvm_ffi has no global function '${name}'`);
    builtins.set(name, pointer);
  }
  return pointer;
}
