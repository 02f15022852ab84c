/**
 * Copies of mutable containers. To read an element can run a program's code, such as the constructor of a registered
 * error class. If that code changes the container, elements and iterators that are still in use are freed. So all
 * elements get a reference before the first is read.
 *
 * @module
 */

import { wire } from '../native/wire.js';
import { Type } from './any.js';
import { appendToBatch } from './batches.js';
import { readContainer, readElements, walkEntries } from './containers.js';
import { takeRaised } from './errors.js';
import { ffi } from './library.js';
import { disown } from './objects.js';
import { enter, request } from './slot.js';
import { ContainerRequest } from './wire-layout.js';

const { f64, i32, u32 } = wire;

/** Adds references to `count` values at a word. */
type Append = (at: number, count: number) => void;

/** The elements of a List. */
export function copyElements(pointer: number): unknown[] {
  return copy((append) => readElements(pointer, [], (at) => append(at, 1)));
}

/** The keys of a Dict. */
export function copyKeys(pointer: number): unknown[] {
  return copy((append) => walkEntries(pointer, (key) => append(key, 1)));
}

/** The entries of a Dict. */
export function copyEntries(pointer: number): Map<unknown, unknown> {
  const flat = copy((append) => walkEntries(pointer, (key) => append(key, 2))); // the value follows its key
  const entries = new Map<unknown, unknown>();
  for (let i = 0; i < flat.length; i += 2) entries.set(flat[i], flat[i + 1]);
  return entries;
}

/** Reads the values that `walk` visits, from a native array of their own. */
function copy(walk: (append: Append) => void): unknown[] {
  let batch = 0;
  try {
    walk((at, count) => {
      batch = appendToBatch(batch, at, count);
    });
    if (batch === 0) return [];
    const slot = enter(ContainerRequest.WORDS);
    const half = slot * 2;
    i32[half + ContainerRequest.TYPE] = Type.array;
    u32[half + ContainerRequest.BATCH] = batch;
    request(slot, () => ffi.makeContainer());
    if (i32[half + ContainerRequest.STATUS] !== 0) throw takeRaised();
    const pointer = f64[slot + ContainerRequest.OBJECT] as number;
    return readContainer(pointer, Type.array, u32[half + ContainerRequest.REFERENCE] as number) as unknown[];
  } finally {
    if (batch !== 0) disown(batch);
  }
}
