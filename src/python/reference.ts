/** References to Python objects, by their number in the native table. */

import { DisposedError, isA } from '../errors.js';
import { wire } from '../native/wire.js';
import { WireHeader } from '../native/wire-layout.js';
import { type Collectable, collectNever, type Owner } from '../storage/collect.js';
import { binding } from './binding.js';
import { ReleasedList } from './wire-layout.js';

/** Handles that the next operation will drop, in memory that native code reads. */
export const released = new ArrayBuffer(ReleasedList.WORDS * 8);
const u32 = new Uint32Array(released);
const header = wire.u32;
const MAX_RELEASED = ReleasedList.STORAGES - ReleasedList.OBJECTS;

/** Traps of a proxy, whose handler is a Reference. */
export type Traps = Required<Pick<ProxyHandler<() => void>, 'get' | 'apply'>>;

/**
 * One reference; `handle` is 0 once it was dropped. Not a base class, because V8 constructs derived objects more slowly
 * (30 of 340 ns of a conversion): proxy.ts gives its prototype the other traps.
 */
export class Reference implements Collectable, Owner {
  /** How often the reference was looked up. */
  lookups = 0;
  /** Asynchronous calls that use the handle. They keep it, even if it is released, until {@link unpinReference}. */
  pins = 0;
  /** The proxy, until it is registered with the garbage collector. */
  proxy: object | null = null;
  nextPending: Collectable | null = null;

  constructor(
    // The traps that are used most, as the first properties of the object itself, where V8 finds them soonest.
    readonly get: Traps['get'],
    readonly apply: Traps['apply'],
    public handle: number,
    /** True for from_dlpack of a library whose objects native code makes itself. Its Reference is never released. */
    readonly isConverter: boolean,
  ) {}

  get refs(): number {
    return this.handle;
  }

  makeOwner(): Owner {
    this.proxy = null;
    return this;
  }

  /** Never waits for the GIL, because another thread drops the object. */
  free(): void {
    const handle = takeHandle(this);
    if (handle !== 0) binding().releaseLater(handle);
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

/** The reference of a Python object that is used often; undefined for anything else. Runs no code of the program. */
export function knownReference(value: unknown): Reference | undefined {
  return typeof value === 'function' ? known.get(value) : undefined;
}

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

/**
 * Reads the reference through the proxy. A program's own proxy around a Python object may run any code here. That code
 * may release an object or a tensor whose handle the current request contains already, so native code must not use such
 * handles again.
 */
function askForReference(value: { [REFERENCE]?: unknown }): unknown {
  const outer = header[WireHeader.PREPARING] as number;
  header[WireHeader.PREPARING] = 1;
  try {
    return value[REFERENCE];
  } catch (error) {
    if (isA(value, Function)) throw error;
    return undefined; // a revoked proxy
  } finally {
    header[WireHeader.PREPARING] = outer;
  }
}

export function liveHandle(reference: Reference): number {
  if (reference.handle === 0) throw new DisposedError('Expected a live Python object but it was disposed');
  return reference.handle;
}

let isSettling = false;

/** Handles that were released while asynchronous calls still use them. */
const postponed = new Map<Reference, number>();

export function unpinReference(reference: Reference): void {
  if (--reference.pins > 0) return;
  const handle = postponed.get(reference);
  if (handle === undefined) return;
  postponed.delete(reference);
  releaseHandle(handle);
}

/** The handle of a reference that is no longer in use; 0 when there is no handle to release. */
function takeHandle(reference: Reference): number {
  if (reference.isConverter) return 0;
  const { handle } = reference;
  reference.handle = 0;
  if (reference.pins === 0 || handle === 0) return handle;
  postponed.set(reference, handle);
  return 0;
}

/** The next operation drops the reference, or the end of the tick if there is no operation before. */
export function release(reference: Reference): void {
  const handle = takeHandle(reference);
  if (handle !== 0) releaseHandle(handle);
  collectNever(reference);
}

export function releaseHandle(handle: number): void {
  if (!isSettling || u32[ReleasedList.OBJECT_COUNT] === MAX_RELEASED) prepareList();
  const count = u32[ReleasedList.OBJECT_COUNT] as number;
  u32[ReleasedList.OBJECTS + count] = handle;
  u32[ReleasedList.OBJECT_COUNT] = count + 1;
}

/** As `release`, for a storage over memory of a Python object. */
export function returnStorage(handle: number): void {
  if (!isSettling || u32[ReleasedList.STORAGE_COUNT] === MAX_RELEASED) prepareList();
  const count = u32[ReleasedList.STORAGE_COUNT] as number;
  u32[ReleasedList.STORAGES + count] = handle;
  u32[ReleasedList.STORAGE_COUNT] = count + 1;
}

/** For the first handle of a tick, and when a list is full. Apart, so that V8 inlines the functions above. */
function prepareList(): void {
  // More than once if finalizers that run meanwhile fill a list again.
  while (u32[ReleasedList.OBJECT_COUNT] === MAX_RELEASED || u32[ReleasedList.STORAGE_COUNT] === MAX_RELEASED) settle();
  if (isSettling) return;
  isSettling = true;
  queueMicrotask(settleTick);
}

function settleTick(): void {
  isSettling = false;
  settleSoon();
}

/** Drops the released objects now, or on another thread while asynchronous calls may hold the GIL. */
export function settleSoon(): void {
  if (u32[ReleasedList.OBJECT_COUNT] !== 0 || u32[ReleasedList.STORAGE_COUNT] !== 0) binding().settleLater();
}

/** Drops the released objects. */
export function settle(): void {
  if (u32[ReleasedList.OBJECT_COUNT] !== 0 || u32[ReleasedList.STORAGE_COUNT] !== 0) binding().settle();
}
