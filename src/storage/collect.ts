/**
 * Release by the garbage collector, for storages whose last Tensor was never disposed.
 *
 * Registering costs as much as a whole exchange, so it waits until the end of the tick and skips storages that were
 * released by then. The list is bounded: a long synchronous loop registers in batches and keeps nothing alive for long.
 */

import { queueMicrotask, register } from '../base/primordials.js';

/** A release that runs at most once. It must not refer to the storage it belongs to. */
export interface Owner {
  /** Idempotent. */
  free(): void;
}

/** A storage, or another object of native code, that can be collected. It has been released when `refs` is zero. */
export interface Collectable {
  readonly refs: number;
  /** The object that the garbage collector watches in place of this object, if there is one, until it is registered. */
  proxy?: object | null;
  /** The next object in the list of objects to register. */
  nextPending: Collectable | null;
  /** The release for the garbage collector to run. Called when the object has outlived its tick; again if the stack was full. */
  makeOwner(): Owner;
}

const BATCH = 1024;

function free(owner: Owner): void {
  try {
    owner.free();
  } catch {
    // A foreign deleter threw. There is no caller to report to, and throwing here would end the process.
  }
}

// Hermes had no FinalizationRegistry for years: there only dispose() releases.
const registry = typeof FinalizationRegistry === 'undefined' ? null : new FinalizationRegistry<Owner>(free);

// The storages form a linked list. An array would be old, and the garbage collector would record each young storage
// that is stored in it; and a patched method of arrays would receive the storages.
let pending: Collectable | null = null;
let pendingCount = 0;
let isRegistering = false;

/** Registers the storage with the garbage collector, in case its last Tensor is never disposed. */
export function collectLater(storage: Collectable): void {
  try {
    if (!isRegistering) {
      queueMicrotask(registerTick);
      isRegistering = true;
    } else if (pendingCount >= BATCH) registerPending();
  } catch (error) {
    // The stack is full. The handle of a proxy still belongs to the caller. A storage is all that knows its handle, so it gets
    // into the list, and the next one asks for the registration again.
    if (storage.proxy !== undefined) throw error;
  }
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

/** Registers all storages of this tick that are still alive, so that the collector may find them before its end. */
export function registerPending(): void {
  for (let storage = pending; storage !== null; storage = pending) {
    // Calls come first. Where the stack is full they throw, and the list keeps the storage.
    if (storage.refs > 0 && registry !== null) register(registry, storage.proxy ?? storage, storage.makeOwner());
    if (storage.proxy !== undefined) storage.proxy = null;
    pending = storage.nextPending;
    storage.nextPending = null;
    pendingCount--;
  }
}
