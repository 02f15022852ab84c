/**
 * What running calls use. Each call holds the tensors that it describes, and the objects that were made for it, until it
 * ends. It does not hold other objects: a reference to one that is dropped meanwhile is released when no call runs
 * (../objects/objects.ts). So no code that runs during a call (a getter of an argument, a callback, a stream provider) can
 * release memory or objects that the call has named on the wire.
 */

import type { DeviceInfo } from '../../device.js';
import type { Descriptor } from '../../storage/descriptor.js';
import { ffi } from '../library.js';
import { disown } from '../objects/objects.js';
import { Any } from '../wire-layout.js';

/** Something to release when a call ends. */
export interface Held {
  release(): void;
}

/** JavaScript memory that native code uses during a call. `buffer` throws when its owner has detached it. */
interface Lent {
  buffer(): unknown;
}

/** The state of all calls that have begun, inner calls last. */
export const running = {
  /** The first device other than the host among the arguments of the innermost call. */
  device: null as DeviceInfo | null,
  held: [] as Held[],
  lent: [] as Lent[],
};

/** Releases something when the innermost call ends. */
export function hold(one: Held): void {
  running.held.push(one);
}

/** Keeps the memory of a tensor until the call ends. Returns the number of the tensor, from 1 on. */
export function holdTensor(descriptor: Descriptor): number {
  descriptor.storage.refs++;
  return running.held.push(descriptor);
}

/** The tensor with a number from {@link holdTensor}, while its call runs. */
export function heldTensor(number: number): Descriptor {
  return running.held[number - 1] as Descriptor;
}

/** Releases what was held after the first `mark`, even when a deleter throws. */
export function releaseHeld(mark: number): void {
  const { held } = running;
  try {
    while (held.length > mark) held.pop()?.release();
  } finally {
    if (held.length > mark) releaseHeld(mark);
  }
}

/** Records JavaScript memory that the call being prepared will use. */
export function lend(memory: Lent): void {
  running.lent.push(memory);
}

/**
 * Throws when memory that was lent after the first `mark` has been detached. This runs after all user code and before
 * native code reads the memory, because an argument may be an object whose methods detach the buffer of an earlier
 * argument.
 */
export function checkLent(mark: number): void {
  const { lent } = running;
  for (let i = mark; i < lent.length; i++) (lent[i] as Lent).buffer();
}

/** A reference that is released at the end of the call. */
export class HeldReference implements Held {
  constructor(private readonly number: number) {}

  release(): void {
    disown(this.number);
  }
}

/** A value on the wire with a reference of its own, which the callee may take: its payload is zero then. */
export class HeldValue implements Held {
  constructor(private at: number) {}

  release(): void {
    const { at } = this;
    this.at = 0;
    if (at === 0 || Any.payload(at) === 0) return;
    ffi.drop(at);
  }
}

/** Releases the values on the wire that were held after the first `mark`, before others take their place there. */
export function releaseValues(mark: number): void {
  for (const one of running.held.slice(mark)) if (one instanceof HeldValue) one.release();
}
