/**
 * Global functions by name.
 *
 * @module
 */

import { f64, i32, OBJECT, STATUS, Type } from './call-frame.js';
import { takeRaised } from './errors.js';
import { library } from './library.js';
import { adoptObject, type ObjectHandle } from './objects.js';

/** The function registered under a name, or null. */
export function findGlobal(name: string): ObjectHandle | null {
  library().getGlobal(name);
  if (i32[STATUS] !== 0) throw takeRaised();
  const pointer = f64[OBJECT] as number;
  return pointer === 0 ? null : adoptObject(pointer, Type.function);
}

const builtins = new Map<string, ObjectHandle>();

/** A function that every libtvm_ffi has. Looked up once: a look-up costs more than a call. */
export function builtin(name: string): number {
  let handle = builtins.get(name);
  if (handle === undefined) {
    handle = findGlobal(name) as ObjectHandle;
    builtins.set(name, handle);
  }
  return handle.pointer;
}
