/**
 * The wire: one block of memory for each instance of the package, which JavaScript and C++ share. native/wire/wire.h is the
 * C++ side.
 *
 * It is a stack of 8-byte words. A request takes a slot, writes its message there (wire-layout.ts) and leaves the slot
 * when it has read the results. Code that runs in the middle of a request uses slots above it, so no request can
 * disturb another.
 */

import { queueMicrotask } from '../../base/primordials.js';
import { BufferError } from '../../errors.js';
import { Wire } from './constants.js';
import { WireHeader } from './wire-layout.js';

WireHeader.setTop(Wire.FIRST_SLOT);

/**
 * Takes a slot of `words` words, an even number, because slots are 16-byte aligned. A request may take more slots above
 * its own. Leaving the first slot frees them all.
 */
export function enter(words: number): number {
  const slot = WireHeader.top();
  const top = slot + words;
  if (top > Wire.WORDS / 2) goBeyondHalf(top);
  WireHeader.setTop(top);
  return slot;
}

/** True if another slot of `words` words would not end in the first half of the wire. */
export function endsBeyondHalf(words: number): boolean {
  return WireHeader.top() + words > Wire.WORDS / 2;
}

/** Frees a slot and everything above it. Its results can be read until the next slot is taken. */
export function leave(slot: number): void {
  WireHeader.setTop(slot);
}

/** Makes the request in a slot and leaves it. */
export function request<T>(slot: number, send: () => T): T {
  WireHeader.setSlot(slot);
  try {
    return send();
  } finally {
    leave(slot);
  }
}

let isClearing = false;

/** True if no request runs. A slot that was left behind looks like one, until the tick ends. */
export function isIdle(): boolean {
  if (WireHeader.top() === Wire.FIRST_SLOT) return true;
  clearAtEnd();
  return false;
}

/**
 * Has all slots freed at the end of the tick. No request is left then, because a runtime runs microtasks after the outermost
 * call of JavaScript. A request that finds the stack full may throw before it leaves its slot. Without this a program that
 * catches thousands of such errors has a full wire for ever.
 */
function clearAtEnd(): void {
  if (isClearing) return;
  queueMicrotask(clear);
  isClearing = true;
}

function goBeyondHalf(top: number): void {
  clearAtEnd();
  if (top > Wire.WORDS) {
    throw new BufferError(
      'Expected room for one more request to native code but the wire is full; nest fewer calls, or pass fewer values at once',
    );
  }
}

function clear(): void {
  isClearing = false;
  leave(Wire.FIRST_SLOT);
}
