/** The deleter of a managed tensor: who may call it, and that it is called once. */

import { weakSetAdd, weakSetHas } from '../base/primordials.js';
import { ArgumentTypeError, ConsumedError, ForeignError, textOf } from '../errors.js';
import type { ManagedTensor } from './managed.js';

const KEY = Symbol.for('dlpack.consumed');
/** For a realm whose global object cannot be extended, or has something else under the key. */
const ownSet = new WeakSet<object>();

/**
 * Records a managed tensor in the set that all copies of this package, and other libraries that follow the specification,
 * share. Throws if it was recorded before.
 */
export function recordConsumed(managed: ManagedTensor): void {
  const consumed = consumedSet();
  if (weakSetHas(consumed, managed)) {
    throw new ConsumedError('Expected a fresh managed tensor but this one was consumed before; ask the producer again');
  }
  weakSetAdd(consumed, managed);
}

function consumedSet(): WeakSet<object> {
  const found = (globalThis as { [KEY]?: unknown })[KEY];
  if (found === undefined) {
    const made = new WeakSet();
    const isMade = Reflect.defineProperty(globalThis, KEY, { value: made, writable: true, configurable: true });
    return isMade ? made : ownSet;
  }
  try {
    weakSetHas(found, ownSet); // throws unless it is a WeakSet, perhaps of another realm
    return found as WeakSet<object>;
  } catch {
    return ownSet;
  }
}

/** Calls the deleter once. Throws if the managed tensor was consumed before. */
export function releaseOf(managed: ManagedTensor, deleter: () => void): () => void {
  recordConsumed(managed);
  if (typeof deleter !== 'function') throw new ArgumentTypeError('deleter', 'a function or null', deleter);
  let isHeld = true;
  return () => {
    if (!isHeld) return;
    isHeld = false;
    try {
      deleter.call(managed);
    } catch (cause) {
      const message = `Expected a deleter that does not throw but it threw ${textOf(cause)}`;
      throw new ForeignError('producer', message, { cause });
    }
  };
}
