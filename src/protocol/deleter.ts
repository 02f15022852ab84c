/** The deleter of a managed tensor: who may call it, and that it is called once. */

import { ArgumentTypeError, ConsumedError, ForeignError, textOf } from '../errors.js';
import type { ManagedTensor } from './managed.js';

/**
 * Records a managed tensor in the set that all copies of this package, and other libraries that follow the specification,
 * share. Throws if it was recorded before.
 */
export function recordConsumed(managed: ManagedTensor): void {
  const key = Symbol.for('dlpack.consumed');
  const scope = globalThis as { [key]?: WeakSet<object> };
  scope[key] ??= new WeakSet();
  if (scope[key].has(managed)) {
    throw new ConsumedError('Expected a fresh managed tensor but this one was consumed before; ask the producer again');
  }
  scope[key].add(managed);
}

/** Calls the deleter once. A function of its own, because V8 would allocate the variables of a closure at each call. */
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
