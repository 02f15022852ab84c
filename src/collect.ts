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

let pending: Collectable[] = [];

/** Has the storage released when it becomes unreachable before its last Tensor is disposed. */
export function collectLater(storage: Collectable): void {
  const count = pending.length + 1;
  pending[count - 1] = storage;
  if (count === 1) queueMicrotask(registerPending);
  else if (count >= BATCH) registerPending();
}

function registerPending(): void {
  const batch = pending;
  pending = [];
  for (let i = 0; i < batch.length; i++) {
    const storage = batch[i] as Collectable;
    if (storage.refs > 0) register(storage, storage.makeOwner());
  }
}
