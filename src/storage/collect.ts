/**
 * Release by the garbage collector, for storages whose last Tensor was never disposed.
 *
 * Registering costs as much as a whole exchange, so it is put off to the end of the tick and skipped for what was
 * released by then. The list is bounded: a long synchronous loop registers in batches and keeps nothing alive for long.
 *
 * @module
 */

/** What must be released. Runs at most once; must not refer to the storage it belongs to. */
export interface Owner {
  /** Idempotent. */
  free(): void;
}

/** Something that has been released when `refs` is zero. */
export interface Collectable {
  refs: number;
  /** The one that waits behind it to be registered. */
  nextPending: Collectable | null;
  /** Called once, when the storage has outlived its tick: what the collector is to release. */
  makeOwner(): Owner;
}

const BATCH = 1024;

const registry = new FinalizationRegistry<Owner>((owner) => {
  try {
    owner.free();
  } catch {
    // A foreign deleter threw while nobody is waiting for it: there is no caller to tell, and throwing here would
    // end the process.
  }
});

// As it was when this module was loaded, and no array methods: patched ones would be handed storages.
const register = FinalizationRegistry.prototype.register.bind(registry) as (target: object, owner: Owner) => void;

const endOfTick = globalThis.queueMicrotask;

// A list through the storages: an array would be old, and each young storage that is put into it would be noted by the
// garbage collector.
let pending: Collectable | null = null;
let pendingCount = 0;
let isRegistering = false;

/** Has the storage released when it becomes unreachable before its last Tensor is disposed. */
export function collectLater(storage: Collectable): void {
  storage.nextPending = pending;
  pending = storage;
  pendingCount++;
  if (!isRegistering) {
    isRegistering = true;
    endOfTick(registerTick);
  } else if (pendingCount >= BATCH) registerPending();
}

/** The storage was released. What is released at once, as most are, leaves the list as it was. */
export function collectNever(storage: Collectable): void {
  if (pending !== storage) return;
  pending = storage.nextPending;
  storage.nextPending = null;
  pendingCount--;
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
    if (storage.refs > 0) register(storage, storage.makeOwner());
    storage = next;
  }
}
