/**
 * JavaScript buffers that native code may keep the address of.
 *
 * @module
 */

import { BYTE_OFFSET, f64, HANDLE, u32 } from './frame.js';
import { native } from './load.js';
import { NativeStorage } from './native-storage.js';
import { pin } from './pins.js';
import { checkStatus } from './status.js';

/** A storage over a JavaScript buffer that stays alive, unmoved, until native code gives it up. */
export function pinBuffer(buffer: ArrayBufferLike, start: number, nbytes: number): NativeStorage {
  f64[BYTE_OFFSET] = pin(() => buffer);
  native().pinArray(new Uint8Array(buffer, start, nbytes));
  checkStatus();
  return new NativeStorage(u32[HANDLE] as number, nbytes, true);
}
