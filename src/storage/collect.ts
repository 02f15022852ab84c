/**
 * Release by the garbage collector, for storages whose last Tensor was never disposed.
 *
 * Registering costs as much as a whole exchange, so it waits until the end of the tick and skips storages that were
 * released by then. The list is bounded: a long synchronous loop registers in batches and keeps nothing alive for long.
 */

/** A release that runs at most once. It must not refer to the storage it belongs to. */
export interface Owner {
  /** Idempotent. */
  free(): void;
}

/** A storage, or another object of native code, that can be collected. It has been released when `refs` is zero. */
export interface Collectable {
  readonly refs: number;
  /** The object that the garbage collector watches in place of this object, if there is one. `makeOwner` drops it. */
  readonly proxy?: object | null;
  /** The next object in the list of objects to register. */
  nextPending: Collectable | null;
  /** The release for the garbage collector to run. Called once, when the object has outlived its tick. */
  makeOwner(): Owner;
}

const BATCH = 1024;

const registry = new FinalizationRegistry<Owner>((owner) => {
  try {
    owner.free();
  } catch {
    // A foreign deleter threw. There is no caller to report to, and throwing here would end the process.
  }
});

// The method as it was when this module was loaded, and no array methods: patched methods would receive storages.
const register = FinalizationRegistry.prototype.register.bind(registry) as (target: object, owner: Owner) => void;

const endOfTick = globalThis.queueMicrotask;

// The storages form a linked list. An array would be old, and the garbage collector would record each young storage
// that is stored in it.
let pending: Collectable | null = null;
let pendingCount = 0;
let isRegistering = false;

/** Registers the storage with the garbage collector, in case its last Tensor is never disposed. */
export function collectLater(storage: Collectable): void {
  // Calls come first. Where the stack is full they throw, and the storage is not in the list.
  if (!isRegistering) {
    endOfTick(registerTick);
    isRegistering = true;
  } else if (pendingCount >= BATCH) registerPending();
  storage.nextPending = pending;
  pending = storage;
  pendingCount++;
}

/** Called when a storage is released. A storage that lived only briefly, as most do, leaves the list. */
export function collectNever(storage: Collectable): void {
  if (pending !== storage) return;
  // Storages that were released in the order in which they were made leave the list together.
  for (let last: Collectable | null = storage; last !== null && last.refs === 0; last = pending) {
    pending = last.nextPending;
    last.nextPending = null;
    pendingCount--;
  }
}

function registerTick(): void {
  isRegistering = false;
  registerPending();
}

function registerPending(): void {
  let storage = pending;
  pending = null;
  pendingCount = 0;
  while (storage !== null) {
    const next: Collectable | null = storage.nextPending;
    storage.nextPending = null;
    if (storage.refs > 0) register(storage.proxy ?? storage, storage.makeOwner());
    storage = next;
  }
}
