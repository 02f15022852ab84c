/**
 * TVM-FFI values on the wire: a `TVMFFIAny` is two words, a type and a payload. Native code reads the arguments where
 * JavaScript wrote them, so every call crosses into native code only once.
 *
 * An address travels as the double with the same bits, which takes one exact store and no bigint. No arithmetic is done
 * with it.
 */

import { decodeAt } from '../../native/wire/bytes.js';
import { cannotKeep } from '../../storage/storage.js';
import { ffi } from '../library.js';
import { Any, WireType } from '../wire-layout.js';

/** Writes the address of byte `offset` of the wire as the payload of a value. */
export function writeWireAddress(at: number, offset: number): void {
  const low = ffi.wireLow + offset;
  Any.setLow(at, low);
  Any.setHigh(at, ffi.wireHigh + (low > 0xffffffff ? 1 : 0));
}

/** Writes a value that is an address or has no payload. */
export function writeAny(at: number, type: number, pointer: number): void {
  Any.setType(at, type);
  Any.setLength(at, 0);
  Any.setPayload(at, pointer);
}

/** Throws for a lent tensor at a word, because native code would use its memory after the call. `use` is for the message. */
export function checkKept(at: number, use: string): void {
  const type = Any.type(at);
  if (type !== WireType.lentTensor && type !== Type.tensorView) return;
  throw cannotKeep(use, 'is a view, or lies', '');
}

/** Reads the characters of a small string at a word. */
export function readSmallString(word: number, length: number): string {
  let value = '';
  for (let i = 0; i < length; i++) {
    const code = Any.bytes(word, i);
    if (code > 0x7f) return decodeAt(Any.bytesAt(word), length);
    value += String.fromCharCode(code);
  }
  return value;
}

/** `TVMFFITypeIndex` of the ABI. */
export const Type = {
  none: 0,
  int: 1,
  bool: 2,
  float: 3,
  opaquePointer: 4,
  dtype: 5,
  device: 6,
  tensorView: 7,
  rawString: 8,
  byteArray: 9,
  rvalue: 10,
  smallString: 11,
  smallBytes: 12,
  unchanged: 13,
  object: 64,
  string: 65,
  bytes: 66,
  error: 67,
  function: 68,
  shape: 69,
  tensor: 70,
  array: 71,
  map: 72,
  module: 73,
  list: 75,
  dict: 76,
  bigInt: 78,
} as const;
