/**
 * Native objects for JavaScript values: functions that native code can call, objects that it can only pass on, and
 * objects of classes that were registered with `registerObject`.
 */

import { released } from '../../native/memory/pins.js';
import { enter, leave } from '../../native/wire/wire.js';
import { WireHeader } from '../../native/wire/wire-layout.js';
import type { Referenced } from '../binding.js';
import { ffi } from '../library.js';
import { HostRequest } from '../wire-layout.js';
import { findInherited, takeRaised } from './errors.js';
import { numbersFor } from './host-values.js';

/** A JavaScript function that native code calls. */
export type FFICallback = (...args: never[]) => unknown;

/** Makes a native function that calls `target`, and a reference to it. It keeps `target` alive. */
export function makeCallback(target: FFICallback): Referenced {
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
function enterHost(value: unknown, onForget?: () => void): number {
  const slot = enter(HostRequest.WORDS); // first, because a full wire must not leave a pin behind
  const { number, pin } = numbersFor(value, onForget);
  HostRequest.setNumber(slot, number);
  HostRequest.setPin(slot, pin);
  WireHeader.setSlot(slot);
  return slot;
}

/** The object that native code made, with a reference. */
function leaveHost(slot: number): Referenced {
  leave(slot);
  if (HostRequest.status(slot) !== 0) {
    released(HostRequest.pin(slot));
    throw takeRaised();
  }
  return [HostRequest.object(slot), HostRequest.reference(slot)];
}

/** A native type for JavaScript objects. */
export interface HostType {
  readonly type: number;
  readonly fields: readonly string[];
  /** The number of the function that reads and sets fields. */
  readonly access: number;
}

/** Types by the prototypes of their classes. */
export const hostTypes = new Map<object, HostType>();

/** The type of an object's class, or of the nearest class that it is derived from; undefined for none. */
export function hostTypeOf(value: object): HostType | undefined {
  return findInherited(hostTypes, value);
}

/**
 * The numbers of weak references to the native objects of JavaScript objects. While native code holds its native object,
 * a JavaScript object goes to native code as that same native object. A strong reference would keep both alive forever,
 * because the native object keeps the JavaScript object alive.
 */
const weakNumbers = new WeakMap<object, number>();

/** The native object of a JavaScript object, the same one as long as it lives, and a reference to it. */
export function nativeObjectOf(value: object, type: HostType): Referenced {
  return findObject(value) ?? makeObject(value, type);
}

function findObject(value: object): Referenced | null {
  const weak = weakNumbers.get(value);
  if (weak === undefined) return null;
  const slot = enter(HostRequest.WORDS);
  HostRequest.setWeak(slot, weak);
  WireHeader.setSlot(slot);
  ffi.findHostObject();
  leave(slot);
  if (HostRequest.status(slot) !== 0) throw takeRaised();
  const pointer = HostRequest.object(slot);
  return pointer === 0 ? null : [pointer, HostRequest.reference(slot)];
}

function makeObject(value: object, { type, fields, access }: HostType): Referenced {
  let weak = 0;
  const slot = enterHost(value, () => {
    if (weakNumbers.get(value) === weak) weakNumbers.delete(value);
    if (weak !== 0) ffi.dropHostObject(weak);
  });
  HostRequest.setType(slot, type);
  HostRequest.setFields(slot, fields.length);
  HostRequest.setAccess(slot, access);
  ffi.makeTypedObject();
  const made = leaveHost(slot);
  weak = HostRequest.weak(slot);
  weakNumbers.set(value, weak);
  return made;
}
