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

const endOfTick = globalThis.queueMicrotask;

// Filled when this module is loaded: a setter that user code puts on Array.prototype is not asked for indices that exist.
const pending: (Collectable | null)[] = [];
for (let i = 0; i < BATCH; i++) pending[i] = null;
let count = 0;
let isScheduled = false;

/** Has the storage released when it becomes unreachable before its last Tensor is disposed. */
export function collectLater(storage: Collectable): void {
  pending[count++] = storage;
  if (!isScheduled || count === BATCH) schedule();
}

function schedule(): void {
  if (count === BATCH) registerPending();
  if (isScheduled) return;
  isScheduled = true;
  endOfTick(() => {
    isScheduled = false;
    registerPending();
  });
}

function registerPending(): void {
  const length = count;
  count = 0;
  for (let i = 0; i < length; i++) {
    const storage = pending[i] as Collectable;
    pending[i] = null;
    if (storage.refs > 0) register(storage, storage.makeOwner());
  }
}
