/**
 * References to native objects, and what lives no longer than a call.
 *
 * @module
 */

import type { DeviceInfo } from '../device.js';
import { type Collectable, collectLater, type Owner } from '../storage/collect.js';
import { SLOT, TOP, u32 } from './call-frame.js';
import { ffi } from './library.js';

/** Something to give back when a call is over. */
export interface Temporary {
  release(): void;
}

/** Memory of JavaScript. Throws when its owner took it away. */
interface Lent {
  buffer(): unknown;
}

/** What the calls that are under way use besides their slots. */
export const scratch = {
  /** False: all below is as it is between calls, and a call that ends has nothing to give back. */
  isUsed: false,
  /** Bytes of the frame's text in use. */
  text: 0,
  /** The first device other than the host among the arguments. */
  device: null as DeviceInfo | null,
  temporaries: [] as Temporary[],
  /** JavaScript memory among the arguments, which its owner can take away. */
  lent: [] as Lent[],
};

/** References given up during a call: the arguments of a call must outlive it. */
const deferred: number[] = [];

/** Gives a reference back now. */
export function disown(number: number): void {
  u32[SLOT] = number;
  ffi.disown();
}

function disownAfterCall(number: number): void {
  if (u32[TOP] === 0) {
    disown(number);
    return;
  }
  deferred.push(number);
  scratch.isUsed = true;
}

/** Notes JavaScript memory that the call being prepared gets. */
export function lend(memory: Lent): void {
  scratch.isUsed = true;
  scratch.lent.push(memory);
}

/**
 * Throws unless what was lent since there were `mark` is still there. After the last code of the user that runs before native
 * code looks at the memory: an argument may be an object whose methods detach the buffer of the one before.
 */
export function checkLent(mark: number): void {
  const { lent } = scratch;
  for (let i = mark; i < lent.length; i++) (lent[i] as Lent).buffer();
}

/** Has something given back when the call that is being prepared is over. */
export function keepForCall(temporary: Temporary): void {
  scratch.isUsed = true;
  scratch.temporaries.push(temporary);
}

/**
 * Gives back what was made since there were `mark` temporaries, all of it, whatever a deleter throws. Before the slots are given
 * back: a deleter may be code of the user, and what it calls would write over those that are still to be dropped.
 */
export function releaseTemporaries(mark: number): void {
  const { temporaries } = scratch;
  try {
    while (temporaries.length > mark) temporaries.pop()?.release();
  } finally {
    if (temporaries.length > mark) releaseTemporaries(mark);
  }
}

/** Gives the slots from `base` on back, and at the end of the outermost call all else. */
export function leaveCall(base: number): void {
  u32[TOP] = base;
  if (base !== 0 || !scratch.isUsed) return;
  scratch.isUsed = false;
  scratch.text = 0;
  scratch.device = null;
  for (let number = deferred.pop(); number !== undefined; number = deferred.pop()) disown(number);
}

/** A reference until the end of the call. */
export class TemporaryObject implements Temporary {
  private readonly number: number;

  constructor(number: number) {
    this.number = number;
  }

  release(): void {
    disown(this.number);
  }
}

/** Gives one numbered reference back, once. */
export class ObjectOwner implements Owner {
  private number: number;
  /** The other owners that go with the same memory. */
  private readonly siblings: Set<Owner> | null;

  constructor(number: number, siblings: Set<Owner> | null) {
    this.number = number;
    this.siblings = siblings;
    siblings?.add(this);
  }

  get isFreed(): boolean {
    return this.number === 0;
  }

  free(): void {
    const { number } = this;
    if (number === 0) return;
    this.number = 0;
    this.siblings?.delete(this);
    disownAfterCall(number);
  }
}

/** A native object that JavaScript holds one reference to, until the collector finds the handle unreachable. */
export class ObjectHandle {
  /** The address, as the double with the same bits. */
  readonly pointer: number;
  /** The number of its class. */
  readonly type: number;
  /** For the collector. */
  nextPending: Collectable | null;
  private readonly owner: ObjectOwner;

  constructor(pointer: number, type: number, number: number, siblings: Set<Owner> | null) {
    this.pointer = pointer;
    this.type = type;
    this.nextPending = null;
    this.owner = new ObjectOwner(number, siblings);
    collectLater(this);
  }

  /** For the collector. */
  get refs(): number {
    return this.owner.isFreed ? 0 : 1;
  }

  makeOwner(): Owner {
    return this.owner;
  }
}

/** A handle for the object of a request that just ended, whose reference is in SLOT. */
export function adoptObject(pointer: number, type: number): ObjectHandle {
  return new ObjectHandle(pointer, type, u32[SLOT] as number, null);
}

/** The native objects behind the JavaScript functions and modules that stand for them. */
export const standIns = new WeakMap<object, ObjectHandle>();
