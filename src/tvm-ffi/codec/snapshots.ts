/**
 * Copies of mutable containers. Reading an element can run a program's code, such as the constructor of a registered error
 * class. If that code changes the container, elements and iterators that are still in use are freed. So all elements get a
 * reference before the first is read.
 */

import { enter, request } from '../../native/wire/wire.js';
import { ffi } from '../library.js';
import { takeRaised } from '../objects/errors.js';
import { disown } from '../objects/objects.js';
import { ContainerRequest } from '../wire-layout.js';
import { Type } from './any.js';
import { appendToBatch } from './batches.js';
import { readContainer, type Take, walkElements, walkEntries } from './containers.js';

/** Adds references to `count` values at a word. */
type Append = (at: number, count: number) => void;

/** The elements of a List. */
export function copyElements(pointer: number, take: Take): unknown[] {
  return copy(take, (append) => walkElements(pointer, append));
}

/** The keys of a Dict. */
export function copyKeys(pointer: number, take: Take): unknown[] {
  return copy(take, (append) => walkEntries(pointer, (key) => append(key, 1)));
}

/** The entries of a Dict. */
export function copyEntries(pointer: number, take: Take): Map<unknown, unknown> {
  const flat = copy(take, (append) => walkEntries(pointer, (key) => append(key, 2))); // the value follows its key
  const entries = new Map<unknown, unknown>();
  for (let i = 0; i < flat.length; i += 2) entries.set(flat[i], flat[i + 1]);
  return entries;
}

/** Reads the values that `walk` visits, from a native array of their own. */
function copy(take: Take, walk: (append: Append) => void): unknown[] {
  let batch = 0;
  try {
    walk((at, count) => {
      batch = appendToBatch(batch, at, count);
    });
    if (batch === 0) return [];
    const slot = enter(ContainerRequest.WORDS);
    ContainerRequest.setType(slot, Type.array);
    ContainerRequest.setBatch(slot, batch);
    request(slot, () => ffi.makeContainer());
    if (ContainerRequest.status(slot) !== 0) throw takeRaised();
    const pointer = ContainerRequest.object(slot);
    return readContainer(pointer, Type.array, ContainerRequest.reference(slot), take) as unknown[];
  } finally {
    if (batch !== 0) disown(batch);
  }
}
