/**
 * New memory where the runtime forbids ArrayBuffers over native memory, as Electron does: a SharedArrayBuffer. No program can
 * detach or move it, so native code may keep its address, and `.data` shows the same memory.
 */

import { Bytes, bufferOf, SharedBuffer } from '../../base/primordials.js';
import { ensureRoom } from '../../base/stack.js';
import { native } from '../load/load.js';
import { pinNew } from './pin-buffer.js';
import type { NativeStorage } from './storage.js';
import { isMainThread } from './threads.js';

/** Native memory has this alignment, but a SharedArrayBuffer of V8 only 16. */
const ALIGNMENT = 256;

/** Whether new tensors live in SharedArrayBuffers. Those of a worker do not, because its heap ends with the worker. */
export function usesSharedBuffers(): boolean {
  return SharedBuffer !== undefined && isMainThread() && !native().allowsExternalBuffers();
}

/** Memory of zeros; null when there is no SharedArrayBuffer of this size. Native memory may be larger. */
export function allocateShared(nbytes: number): NativeStorage | null {
  ensureRoom(); // because only calls release the pin
  const binding = native();
  binding.runReleased(); // so that a loop in one tick does not keep what it released
  let whole: Uint8Array;
  try {
    whole = new Bytes(new (SharedBuffer as typeof SharedArrayBuffer)(nbytes + ALIGNMENT - 1));
  } catch {
    return null;
  }
  return pinNew(new Bytes(bufferOf(whole), binding.beforeAligned(whole), nbytes));
}
