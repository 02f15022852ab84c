/**
 * JavaScript functions that native code can call.
 *
 * @module
 */

import { pin } from '../native/pins.js';
import { wire } from '../native/wire.js';
import { WireHeader } from '../native/wire-layout.js';
import { takeRaised } from './errors.js';
import { ffi } from './library.js';
import type { Referenced } from './objects.js';
import { enter, leave } from './slot.js';
import { CallbackMakeRequest } from './wire-layout.js';

const { f64, i32, u32 } = wire;

export type JavaScriptFunction = (...args: never[]) => unknown;

/** The number of the allocator function. Other functions count from 1. native/tvm_ffi/callback.h has the same. */
export const ALLOCATOR = 0;

/** The functions by number. A number is reused once native code has released its function. */
const functions: (JavaScriptFunction | undefined)[] = [undefined];
const freeNumbers: number[] = [];

function forget(number: number): void {
  functions[number] = undefined;
  freeNumbers.push(number);
}

/** Makes a native function that calls `target`, and a reference to it. It keeps `target` alive. */
export function makeCallback(target: JavaScriptFunction): Referenced {
  const number = freeNumbers.pop() ?? functions.length;
  functions[number] = target;
  const slot = enter(CallbackMakeRequest.WORDS);
  const half = slot * 2;
  u32[half + CallbackMakeRequest.CALLBACK] = number;
  f64[slot + CallbackMakeRequest.PIN] = pin(() => forget(number));
  u32[WireHeader.SLOT] = slot;
  ffi.makeCallback();
  leave(slot);
  if (i32[half + CallbackMakeRequest.STATUS] !== 0) throw takeRaised();
  const pointer = f64[slot + CallbackMakeRequest.OBJECT] as number;
  return { pointer, reference: u32[half + CallbackMakeRequest.REFERENCE] as number };
}

export function callbackOf(number: number): JavaScriptFunction | undefined {
  return functions[number];
}
