/**
 * JavaScript functions that native code can call.
 *
 * @module
 */

import { pin } from '../native/pins.js';
import { enter, leave, wire } from '../native/wire.js';
import { PinRequest, WireHeader } from '../native/wire-layout.js';
import { CALLBACK, f64, i32, OBJECT, STATUS, u32 } from './call-frame.js';
import { takeRaised } from './errors.js';
import { ffi } from './library.js';

export type JavaScriptFunction = (...args: never[]) => unknown;

/** The number of the function that allocates; others count from 1. native/tvm_ffi/callback.h has the same. */
export const ALLOCATOR = 0;

/** By number; a number is used again once native code has released its function. */
const functions: (JavaScriptFunction | undefined)[] = [undefined];
const freeNumbers: number[] = [];

function forget(number: number): void {
  functions[number] = undefined;
  freeNumbers.push(number);
}

/** A native function that calls `target`; its reference is in SLOT. `target` lives as long as native code needs it. */
export function makeCallback(target: JavaScriptFunction): number {
  const number = freeNumbers.pop() ?? functions.length;
  functions[number] = target;
  u32[CALLBACK] = number;
  const slot = enter(PinRequest.WORDS);
  wire.f64[slot + PinRequest.PIN] = pin(() => forget(number));
  wire.u32[WireHeader.SLOT] = slot;
  ffi.makeCallback();
  leave(slot);
  if (i32[STATUS] !== 0) throw takeRaised();
  return f64[OBJECT] as number;
}

export function callbackOf(number: number): JavaScriptFunction | undefined {
  return functions[number];
}
