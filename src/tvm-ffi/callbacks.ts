/**
 * JavaScript functions that native code can call.
 *
 * @module
 */

import { Field, frame } from '../native/frame.js';
import { pin } from '../native/pins.js';
import { CALLBACK, f64, i32, OBJECT, STATUS, u32 } from './call-frame.js';
import { takeRaised } from './errors.js';
import { ffi } from './library.js';

const { f64: exchange } = frame;
const { BYTE_OFFSET } = Field;

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
  exchange[BYTE_OFFSET] = pin(() => forget(number));
  u32[CALLBACK] = number;
  ffi.makeCallback();
  if (i32[STATUS] !== 0) throw takeRaised();
  return f64[OBJECT] as number;
}

export function callbackOf(number: number): JavaScriptFunction | undefined {
  return functions[number];
}
