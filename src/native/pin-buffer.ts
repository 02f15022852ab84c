/** JavaScript memory that is kept alive for native code. */

import { native } from './load.js';
import { NativeStorage } from './native-storage.js';
import { type Pinned, pin, unpin } from './pins.js';
import { errorOf } from './status.js';
import { isMainThread } from './threads.js';
import { enter, leave, wire } from './wire.js';
import { PinRequest, Status, WireHeader } from './wire-layout.js';

const { f64, i32, u32, u64 } = wire;

// The class as it was when this module was loaded: a patched class would receive private buffers.
const Bytes = globalThis.Uint8Array;

/** A storage over a JavaScript buffer, which stays alive and in place until native code releases it. */
export function pinBuffer(buffer: ArrayBufferLike, start: number, nbytes: number): NativeStorage {
  const binding = native();
  const array = new Bytes(buffer, start, nbytes);
  const slot = enter(PinRequest.WORDS);
  return request(slot, buffer, nbytes, () => binding.pinArray(array));
}

/**
 * A storage over memory at an address. `deleter` runs when native code releases the memory, at the latest when this
 * thread ends.
 */
export function pinAddress(address: bigint, nbytes: number, deleter: () => void): NativeStorage {
  const binding = native();
  const slot = enter(PinRequest.WORDS);
  u64[slot + PinRequest.ADDRESS] = address;
  f64[slot + PinRequest.NBYTES] = nbytes;
  return request(slot, deleter, nbytes, () => binding.pinAddress());
}

function request(slot: number, pinned: Pinned, nbytes: number, send: () => void): NativeStorage {
  const id = pin(pinned);
  f64[slot + PinRequest.PIN] = id;
  u32[WireHeader.SLOT] = slot;
  send();
  leave(slot);
  const status = i32[slot * 2 + PinRequest.STATUS] as number;
  if (status !== Status.ok) {
    unpin(id);
    throw errorOf(status, nbytes);
  }
  // The memory or its deleter belongs to the heap of this thread.
  return new NativeStorage(u32[slot * 2 + PinRequest.HANDLE] as number, nbytes, !isMainThread());
}
