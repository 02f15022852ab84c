/**
 * What the requests to Python use: each request holds its arguments until it ends. So no code that runs meanwhile (a getter
 * of an argument, a Python finalizer, a deleter) can release an object or memory that the request names by its handle.
 */

import { disposed } from '../../storage/descriptor.js';
import type { Storage } from '../../storage/storage.js';
import { liveHandle, Reference, unpinReference } from '../objects/reference.js';

/** A storage, an object that was made for the request, or a reference. */
type Held = { release(): void } | Reference;

/** Those of all requests that have begun, inner requests last. Entries from `count` on are null. */
const held: (Held | null)[] = [];
let count = 0;

/** Begins to hold the arguments of a request. Returns the argument of {@link endHolding}. */
export function beginHolding(): number {
  return count;
}

/** Releases something when the request ends. */
export function releaseLater(temporary: { release(): void }): void {
  held[count++] = temporary;
}

export function holdStorage(storage: Storage): void {
  if (storage.refs === 0) throw disposed();
  storage.refs++;
  held[count++] = storage;
}

/** Returns the handle of the reference. */
export function holdReference(reference: Reference): number {
  const handle = liveHandle(reference);
  reference.pins++;
  held[count++] = reference;
  return handle;
}

/**
 * Releases what a request and those inside it have held. Returns the first error of a release, which may run a deleter, after
 * everything was released; null without an error.
 */
export function endHolding(first: number): { readonly error: unknown } | null {
  let failure: { error: unknown } | null = null;
  // A release may make requests, which hold their arguments above these.
  for (let i = first; i < count; i++) {
    const one = held[i] as Held;
    held[i] = null;
    try {
      if (one instanceof Reference) unpinReference(one);
      else one.release();
    } catch (error) {
      failure ??= { error };
    }
  }
  count = first;
  return failure;
}
