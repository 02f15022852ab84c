/** Global functions by name. */

import { wire } from '../native/wire.js';
import { TVMFFIError, takeRaised } from './errors.js';
import { library } from './library.js';
import type { Referenced } from './objects.js';
import { enter, request } from './slot.js';
import { ObjectRequest } from './wire-layout.js';

const { f64, i32, u32 } = wire;

/** The function registered under a name, with a reference, or null. */
export function findGlobal(name: string): Referenced | null {
  const ffi = library();
  const slot = enter(ObjectRequest.WORDS);
  request(slot, () => ffi.getGlobal(name));
  if (i32[slot * 2 + ObjectRequest.STATUS] !== 0) throw takeRaised();
  const pointer = f64[slot + ObjectRequest.OBJECT] as number;
  return pointer === 0 ? null : { pointer, reference: u32[slot * 2 + ObjectRequest.REFERENCE] as number };
}

const builtins = new Map<string, number>();

/**
 * A function that libtvm_ffi itself registers; native/tvm_ffi/builtins.cc lists them. It stays the same even if a
 * program replaces or removes the function of this name.
 */
export function builtin(name: string): number {
  let pointer = builtins.get(name);
  if (pointer === undefined) {
    const ffi = library();
    const slot = enter(ObjectRequest.WORDS);
    request(slot, () => ffi.getBuiltin(name));
    pointer = f64[slot + ObjectRequest.OBJECT] as number;
    if (pointer === 0) throw new TVMFFIError('RuntimeError', `This libtvm_ffi has no global function '${name}'`);
    builtins.set(name, pointer);
  }
  return pointer;
}
