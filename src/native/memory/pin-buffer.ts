/** JavaScript memory that is kept alive for native code. */

import { Bytes, byteLengthOf } from '../../base/primordials.js';
import { native } from '../load/load.js';
import { Status } from '../wire/constants.js';
import { errorOf } from '../wire/status.js';
import { type Pinned, pin, unpin } from './pins.js';
import { NativeStorage } from './storage.js';
import { isMainThread } from './threads.js';

/** Memory that JavaScript keeps alive under a pin. */
class PinnedStorage extends NativeStorage {
  /** Native code releases the pin with its last reference, and tells so through a queue, which is emptied at once here. */
  protected override giveBack(handle: number, isDetached: boolean): void {
    super.giveBack(handle, isDetached);
    native().runReleased();
  }
}

/** A storage over a JavaScript buffer, which stays alive and in place until native code releases it. */
export function pinBuffer(buffer: ArrayBufferLike, start: number, nbytes: number): NativeStorage {
  const binding = native();
  const array = new Bytes(buffer, start, nbytes);
  return keep(array, nbytes, Status.napi, (id) => binding.pinArray(id, array, false));
}

/** A storage over the memory of a new tensor, in a SharedArrayBuffer of this package. */
export function pinNew(array: Uint8Array): NativeStorage {
  const binding = native();
  const storage = keep(array, byteLengthOf(array), Status.napi, (id) => binding.pinArray(id, array, true));
  storage.showIn(array);
  return storage;
}

/**
 * A storage over memory at an address. `deleter` runs when native code releases the memory, at the latest when this
 * thread ends.
 */
export function pinAddress(address: bigint, nbytes: number, deleter: () => void): NativeStorage {
  const binding = native();
  return keep(deleter, nbytes, Status.nullData, (id) => binding.pinAddress(id, address, nbytes));
}

/** `refusal`: what it means if native code returns no handle at all. */
function keep(
  pinned: Pinned,
  nbytes: number,
  refusal: Status,
  send: (id: number) => number | undefined,
): NativeStorage {
  const id = pin(pinned);
  const handle = send(id);
  if (!handle) {
    unpin(id);
    throw errorOf(handle === undefined ? refusal : Status.outOfMemory, nbytes);
  }
  // The memory or its deleter belongs to the heap of this thread.
  return new PinnedStorage(handle, nbytes, !isMainThread());
}
