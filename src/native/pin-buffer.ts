/**
 * JavaScript buffers that native code may keep the address of.
 *
 * @module
 */

import { Field, frame } from './frame.js';
import { native } from './load.js';
import { NativeStorage } from './native-storage.js';
import { checkPinned, pin } from './pins.js';

const { f64, u32 } = frame;
const { BYTE_OFFSET, HANDLE } = Field;

// As it was when this module was loaded: a replacement would be handed buffers that nobody may see.
const Bytes = globalThis.Uint8Array;

/** A storage over a JavaScript buffer that stays alive, unmoved, until native code gives it up. */
export function pinBuffer(buffer: ArrayBufferLike, start: number, nbytes: number): NativeStorage {
  const binding = native();
  const array = new Bytes(buffer, start, nbytes);
  const id = pin(buffer);
  f64[BYTE_OFFSET] = id;
  binding.pinArray(array);
  checkPinned(id);
  return new NativeStorage(u32[HANDLE] as number, nbytes, true).recorded();
}
