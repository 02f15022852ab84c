/** References to native objects. */

import { queueMicrotask } from '../../base/primordials.js';
import { DisposedError } from '../../errors.js';
import { isIdle } from '../../native/wire/wire.js';
import { type Collectable, collectLater, type Owner } from '../../storage/collect.js';
import { ffi } from '../library.js';

/** References dropped during a call. They are released after it, because the arguments of a call must outlive it. */
const deferred: number[] = [];

/** Releases a reference now. 0 is none. */
export function disown(number: number): void {
  ffi.disown(number);
}

function disownAfterCall(number: number): void {
  if (isIdle()) {
    disown(number);
    return;
  }
  if (deferred.push(number) === 1) queueMicrotask(disownDeferred);
}

/** Releases the references that were dropped during calls, when no call is running. */
export function disownDeferred(): void {
  while (deferred.length > 0) disown(deferred.pop() as number);
}

/** Releases one numbered reference, once. */
class ObjectOwner implements Owner {
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

/** A native object with one reference from JavaScript, until it is disposed or the garbage collector finds the handle. */
export class ObjectHandle {
  /** True when the JavaScript object is remembered, so that native code can return it. */
  isKnown: boolean;
  /** For the collector. */
  nextPending: Collectable | null;
  /** The address, as the double with the same bits; 0 when it was disposed. */
  private address: number;
  private readonly owner: ObjectOwner;

  constructor(
    pointer: number,
    /** The number of its class. */
    readonly type: number,
    number: number,
    siblings: Set<Owner> | null,
  ) {
    this.isKnown = false;
    this.nextPending = null;
    this.address = pointer;
    this.owner = new ObjectOwner(number, siblings);
    collectLater(this);
  }

  /** The address of the object. Throws when JavaScript has disposed it. Code that runs later must read it again. */
  get pointer(): number {
    if (this.address === 0) throw disposedObject();
    return this.address;
  }

  get isDisposed(): boolean {
    return this.address === 0;
  }

  /** Releases the reference, once: at the end of the calls that run now. Native code may keep the object. */
  dispose(): void {
    if (this.address === 0) return;
    known.delete(this.address); // native code that returns the object again gets a new JavaScript object
    this.address = 0;
    this.owner.free();
  }

  /** For the collector. */
  get refs(): number {
    return this.owner.isFreed ? 0 : 1;
  }

  makeOwner(): Owner {
    return this.owner;
  }
}

function disposedObject(): DisposedError {
  return new DisposedError(
    'Expected a live object or function of TVM-FFI but it was released by dispose(), using or scope(); ' +
      'dispose it later, or get it again',
  );
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

/** The existing JavaScript value for a native object, or a new one from `make`, which takes over the reference. */
export function recogniseOr(pointer: number, reference: number, make: () => object): object {
  const found = recognise(pointer);
  if (found === undefined) return remember(pointer, make());
  disown(reference);
  return found;
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

/** The function that `find` found before; a new one when there is none, or when a program has disposed it. */
export function findAgain<F extends object | undefined>(before: F | undefined, find: () => F): F {
  return before === undefined || standIns.get(before)?.isDisposed === true ? find() : before;
}
