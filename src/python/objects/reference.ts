/** References to Python objects, by their number in the native table. */

import { queueMicrotask } from '../../base/primordials.js';
import { DisposedError, isA } from '../../errors.js';
import { type Collectable, collectNever, type Owner, registerPending } from '../../storage/collect.js';
import { forget, isDebug } from '../../storage/debug.js';
import { binding } from '../binding.js';
import { ReleasedList } from '../wire-layout.js';

/** The most objects, and the most storages, that can wait. */
export const MAX_RELEASED = ReleasedList.OBJECTS_LENGTH;

/** References of larger objects that have outlived their tick. */
const watched = new Set<Reference>();

/** One reference; `handle` is 0 once it was dropped. */
export class Reference implements Collectable, Owner {
  /** How often the reference was looked up. */
  lookups = 0;
  /** Requests that use the handle. They keep it, even if it is released, until {@link unpinReference}. */
  pins = 0;
  /** Native code has a weak reference to the proxy. */
  isWatched = false;
  /** The proxy, until it is registered with the garbage collector. */
  proxy: object | null = null;
  nextPending: Collectable | null = null;

  constructor(
    public handle: number,
    /** True for from_dlpack of a library whose objects native code makes itself. Its Reference is never released. */
    readonly isConverter: boolean,
  ) {}

  get refs(): number {
    return this.handle;
  }

  makeOwner(): Owner {
    if (binding().outlive(this.handle, this.proxy)) {
      this.isWatched = true;
      watched.add(this);
    }
    return this;
  }

  /** Never waits for the GIL, because another thread drops the object. */
  free(): void {
    const handle = takeHandle(this);
    if (handle === 0) return;
    try {
      binding().releaseLater(handle);
    } catch (error) {
      this.handle = handle; // the stack is full
      if (this.isWatched) watched.add(this);
      throw error;
    }
  }
}

/**
 * The key under which a proxy returns its reference. A program that gets hold of the key can only confuse its own
 * objects, because native code trusts no handle.
 */
export const REFERENCE = Symbol('reference');

// A lookup here takes 5 ns, and through the proxy 30 ns. An insertion takes 600 ns, so only objects that are used often
// are inserted.
const known = new WeakMap<object, Reference>();
const OFTEN = 32;

/** The reference of a Python object; null for anything else. */
export function findReference(value: unknown): Reference | null {
  if (typeof value !== 'function') return null;
  const found = known.get(value);
  if (found !== undefined) return found;
  const reference = askForReference(value as unknown as { [REFERENCE]?: unknown });
  if (!(reference instanceof Reference)) return null;
  if (++reference.lookups === OFTEN) known.set(value, reference);
  return reference;
}

/** Reads the reference through the proxy. A program's own proxy around a Python object may run any code here. */
function askForReference(value: { [REFERENCE]?: unknown }): unknown {
  try {
    return value[REFERENCE];
  } catch (error) {
    if (isA(value, Function)) throw error;
    return undefined; // a revoked proxy
  }
}

export function liveHandle(reference: Reference): number {
  if (reference.handle === 0) throw new DisposedError('Expected a live Python object but it was disposed');
  return reference.handle;
}

let isSettling = false;

/** Handles that were released while requests still use them. */
const postponed = new Map<Reference, number>();

export function unpinReference(reference: Reference): void {
  if (--reference.pins > 0 || reference.handle !== 0) return;
  const handle = postponed.get(reference);
  if (handle === undefined) return;
  postponed.delete(reference);
  releaseObject(handle);
}

/** The handle of a reference that is no longer in use; 0 when there is no handle to release. */
function takeHandle(reference: Reference): number {
  if (reference.isConverter) return 0;
  const { handle } = reference;
  if (isDebug()) forget('python-object', handle); // first: where the stack is full, this throws
  reference.handle = 0;
  if (reference.isWatched) watched.delete(reference);
  if (reference.pins === 0 || handle === 0) return handle;
  postponed.set(reference, handle);
  return 0;
}

/**
 * Drops objects that the garbage collector has found, when objects have many bytes. Its callbacks would do that, but they
 * run only when the event loop turns.
 */
export function dropUnused(): void {
  if (ReleasedList.crowded() === 0) return;
  registerPending();
  for (const reference of watched) if (binding().isUnused(reference.handle)) reference.free();
  ReleasedList.setCrowded(0);
}

/** The next operation drops the reference, or the end of the tick if there is no operation before. */
export function release(reference: Reference): void {
  const handle = takeHandle(reference);
  if (handle !== 0) releaseObject(handle);
  collectNever(reference);
}

export function releaseObject(handle: number): void {
  if (ReleasedList.objectCount() === MAX_RELEASED) emptyLists();
  const count = ReleasedList.objectCount();
  ReleasedList.setObjects(count, handle);
  ReleasedList.setObjectCount(count + 1);
  if (!isSettling) settleAtEnd();
}

/** As `release`, for a storage over memory of a Python object. The number may contain `Wire.DETACHED`. */
export function returnStorage(number: number): void {
  if (ReleasedList.storageCount() === MAX_RELEASED) emptyLists();
  const count = ReleasedList.storageCount();
  ReleasedList.setStorages(count, number);
  ReleasedList.setStorageCount(count + 1);
  if (!isSettling) settleAtEnd();
}

function emptyLists(): void {
  // More than once if finalizers that run meanwhile fill a list again.
  while (ReleasedList.objectCount() === MAX_RELEASED || ReleasedList.storageCount() === MAX_RELEASED) settle();
}

/** For the first handle of a tick, which is in its list already: where the stack is full, this throws. */
function settleAtEnd(): void {
  queueMicrotask(settleTick);
  isSettling = true;
}

/** Handles that did not fit into a full list where the stack was full, too. The next settling at the end of a tick releases them. */
export const leftBehind: number[] = [];

function settleTick(): void {
  isSettling = false;
  settleSoon();
  for (let handle = leftBehind.pop(); handle !== undefined; handle = leftBehind.pop()) releaseObject(handle);
}

/** Drops the released objects now, or on another thread while asynchronous calls may hold the GIL. */
export function settleSoon(): void {
  if (ReleasedList.objectCount() !== 0 || ReleasedList.storageCount() !== 0) binding().settleLater();
}

/** Drops the released objects. */
export function settle(): void {
  if (ReleasedList.objectCount() !== 0 || ReleasedList.storageCount() !== 0) binding().settle();
}
