/**
 * Native objects for JavaScript values: functions that native code can call, and objects that it can only pass on.
 *
 * @module
 */

import { released } from '../native/pins.js';
import { wire } from '../native/wire.js';
import { WireHeader } from '../native/wire-layout.js';
import { takeRaised } from './errors.js';
import { hold } from './host-values.js';
import { ffi } from './library.js';
import type { Referenced } from './objects.js';
import { enter, leave } from './slot.js';
import { HostRequest } from './wire-layout.js';

const { f64, i32, u32 } = wire;

export type JavaScriptFunction = (...args: never[]) => unknown;

/** Makes a native function that calls `target`, and a reference to it. It keeps `target` alive. */
export function makeCallback(target: JavaScriptFunction): Referenced {
  const slot = enterHost(target);
  ffi.makeHostFunction();
  return leaveHost(slot);
}

/** Makes a native object that keeps a value alive, and a reference to it. */
export function makeOpaque(value: unknown): Referenced {
  const slot = enterHost(value);
  ffi.makeHostObject();
  return leaveHost(slot);
}

/** Takes a slot for a native object that keeps a value alive. `onForget` runs when native code has released it. */
export function enterHost(value: unknown, onForget?: () => void): number {
  const { number, pin } = hold(value, onForget);
  const slot = enter(HostRequest.WORDS);
  u32[slot * 2 + HostRequest.NUMBER] = number;
  f64[slot + HostRequest.PIN] = pin;
  u32[WireHeader.SLOT] = slot;
  return slot;
}

/** The object that native code made, with a reference. */
export function leaveHost(slot: number): Referenced {
  leave(slot);
  if (i32[slot * 2 + HostRequest.STATUS] !== 0) {
    released(f64[slot + HostRequest.PIN] as number); // 0 if native code took it over
    throw takeRaised();
  }
  const pointer = f64[slot + HostRequest.OBJECT] as number;
  return { pointer, reference: u32[slot * 2 + HostRequest.REFERENCE] as number };
}
