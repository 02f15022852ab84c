/** References to native objects, and objects that live only during a call. */

import type { DeviceInfo } from '../device.js';
import { wire } from '../native/wire.js';
import { Wire, WireHeader } from '../native/wire-layout.js';
import { type Collectable, collectLater, type Owner } from '../storage/collect.js';
import { ffi } from './library.js';
import { enter, leave } from './slot.js';
import { ReferenceRequest } from './wire-layout.js';

const { u32 } = wire;

/** Something to release when a call ends. */
export interface Temporary {
  release(): void;
}

/** JavaScript memory that native code uses during a call. `buffer` throws when its owner has detached it. */
interface Lent {
  buffer(): unknown;
}

/** The state of running calls besides their slots. */
export const callState = {
  /** False when everything below is as between calls, so a call that ends has nothing to release. */
  isUsed: false,
  /** The first device other than the host among the arguments. */
  device: null as DeviceInfo | null,
  temporaries: [] as Temporary[],
  /** JavaScript memory among the arguments, which its owner can detach. */
  lent: [] as Lent[],
};

/** References dropped during a call. They are released after it, because the arguments of a call must outlive it. */
const deferred: number[] = [];

/** Releases a reference now. Native code reads the message first, so the slot is free before a deleter runs. */
export function disown(number: number): void {
  const slot = enter(ReferenceRequest.WORDS);
  leave(slot);
  u32[slot * 2 + ReferenceRequest.REFERENCE] = number;
  u32[WireHeader.SLOT] = slot;
  ffi.disown();
}

function disownAfterCall(number: number): void {
  if (u32[WireHeader.TOP] === Wire.FIRST_SLOT) {
    disown(number);
    return;
  }
  if (deferred.push(number) === 1) queueMicrotask(disownDeferred);
  callState.isUsed = true;
}

/** Releases the references that were dropped during calls, when no call is running. */
function disownDeferred(): void {
  for (let number = deferred.pop(); number !== undefined; number = deferred.pop()) disown(number);
}

/** Records JavaScript memory that the call being prepared will use. */
export function lend(memory: Lent): void {
  callState.isUsed = true;
  callState.lent.push(memory);
}

/**
 * Throws when memory that was lent after the first `mark` has been detached. This runs after all user code and before
 * native code reads the memory, because an argument may be an object whose methods detach the buffer of an earlier
 * argument.
 */
export function checkLent(mark: number): void {
  const { lent } = callState;
  for (let i = mark; i < lent.length; i++) (lent[i] as Lent).buffer();
}

/** Releases an object when the call that is being prepared ends. */
export function keepForCall(temporary: Temporary): void {
  callState.isUsed = true;
  callState.temporaries.push(temporary);
}

/**
 * Releases all temporaries after the first `mark`, even when a deleter throws. This happens before the slot of the call
 * is freed, because a deleter may be user code, and its calls would overwrite values that still hold references.
 */
export function releaseTemporaries(mark: number): void {
  const { temporaries } = callState;
  try {
    while (temporaries.length > mark) temporaries.pop()?.release();
  } finally {
    if (temporaries.length > mark) releaseTemporaries(mark);
  }
}

let isReleasing = false;

/**
 * Releases the temporaries of a callback's result, at the end of the tick at the latest. If JavaScript made the outer
 * call, that call releases them. If another host of the process made it, such as Python, nothing else would.
 */
export function releaseAfterTick(): void {
  if (isReleasing) return;
  queueMicrotask(() => {
    isReleasing = false;
    if (u32[WireHeader.TOP] !== Wire.FIRST_SLOT) return;
    callState.isUsed = false;
    releaseTemporaries(0);
  });
  isReleasing = true; // last, because the call throws where the stack is full
}

/**
 * Releases the memory and objects that a call used, and frees its slot. If nothing was in use when the call began,
 * nothing is in use afterwards.
 */
export function endCall(slot: number, mark: number, lentMark: number, isInside: boolean): void {
  const { lent, temporaries } = callState;
  for (let i = lent.length; i > lentMark; i--) lent.pop(); // cheaper than setting the length
  try {
    if (temporaries.length > mark) releaseTemporaries(mark);
  } finally {
    leave(slot);
    if (!isInside) {
      callState.isUsed = false;
      callState.device = null;
      if (slot === Wire.FIRST_SLOT) disownDeferred();
    }
  }
}

/** Runs a request that has arguments as a call, and frees its slot. It leaves the state of an outer call unchanged. */
export function asCall<T>(slot: number, run: () => T): T {
  const { isUsed, device, temporaries, lent } = callState;
  const mark = temporaries.length;
  const lentMark = lent.length;
  callState.isUsed = true;
  callState.device = null;
  try {
    return run();
  } finally {
    callState.device = device;
    endCall(slot, mark, lentMark, isUsed);
  }
}

/** A reference that is released at the end of the call. */
export class TemporaryObject implements Temporary {
  constructor(private readonly number: number) {}

  release(): void {
    disown(this.number);
  }
}

/** Releases one numbered reference, once. */
export class ObjectOwner implements Owner {
  constructor(
    private number: number,
    /** The other owners that are released with the same memory. */
    private readonly siblings: Set<Owner> | null,
  ) {
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

/** A native object with one reference from JavaScript, until the garbage collector finds the handle unreachable. */
export class ObjectHandle {
  /** True when the JavaScript object is remembered, so that native code can return it. */
  isKnown: boolean;
  /** For the collector. */
  nextPending: Collectable | null;
  private readonly owner: ObjectOwner;

  constructor(
    /** The address, as the double with the same bits. */
    readonly pointer: number,
    /** The number of its class. */
    readonly type: number,
    number: number,
    siblings: Set<Owner> | null,
  ) {
    this.isKnown = false;
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

/** An object's address, and the number of a reference to it. */
export interface Referenced {
  readonly pointer: number;
  readonly reference: number;
}

/** Makes a handle for an object with a reference. */
export function adoptObject(pointer: number, type: number, reference: number): ObjectHandle {
  return new ObjectHandle(pointer, type, reference, null);
}

/** The JavaScript functions and objects for native objects, by address. A live native object keeps the same one. */
const known = new Map<number, WeakRef<object>>();
let sweepAt = 1024;

/** The function or object for the native object at an address, or undefined. */
export function recognise(pointer: number): object | undefined {
  return known.get(pointer)?.deref();
}

/** Records the value for the native object at an address. The value holds a reference, so the address stays valid. */
export function remember<T extends object>(pointer: number, value: T): T {
  known.set(pointer, new WeakRef(value));
  if (known.size > sweepAt) {
    for (const [address, reference] of known) if (reference.deref() === undefined) known.delete(address);
    sweepAt = Math.max(1024, known.size * 2);
  }
  return value;
}

/** Remembers an object when native code first gets it. A weak reference is expensive, and most objects stay in JavaScript. */
export function rememberObject(handle: ObjectHandle, value: object): void {
  handle.isKnown = true;
  remember(handle.pointer, value);
}

/** The objects of views: an object lives as long as its views. */
const viewedObjects = new WeakMap<object, object>();

/** Remembers the object of a view, so that native code that gets the view and returns it returns the object. */
export function rememberViewed<T extends object>(handle: ObjectHandle, object: object, view: T): T {
  if (!handle.isKnown) rememberObject(handle, object);
  viewedObjects.set(view, object);
  return view;
}

/** The native objects of JavaScript functions and modules. */
export const standIns = new WeakMap<object, ObjectHandle>();
