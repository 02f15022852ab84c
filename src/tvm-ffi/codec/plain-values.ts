/** Values that are no native objects in JavaScript. */

import { BufferError } from '../../errors.js';
import { bytesCopyAt } from '../../native/wire/bytes.js';
import { Any } from '../wire-layout.js';
import { readSmallString, Type } from './any.js';
import { DataType, DeviceValue, OpaquePointer, UNCHANGED } from './values.js';

/** True for a type whose values {@link readPlain} reads. */
export function isPlain(type: number): boolean {
  return type < Type.object || type === Type.string || type === Type.bytes || type === Type.bigInt;
}

/** Reads the value at a word. `taken` is its contents, if native code has returned them. */
export function readPlain(word: number, taken: unknown): unknown {
  switch (Any.type(word)) {
    case Type.none:
      return undefined;
    case Type.int: {
      const high = Any.high(word);
      const value = high * 2 ** 32 + Any.low(word);
      return Number.isSafeInteger(value) ? value : Any.integer(word);
    }
    case Type.bool:
      return Any.low(word) !== 0;
    case Type.float:
      return Any.payload(word);
    case Type.smallString:
      return readSmallString(word, Any.length(word));
    case Type.smallBytes:
      return bytesCopyAt(Any.bytesAt(word), Any.length(word));
    case Type.unchanged:
      return UNCHANGED;
    case Type.tensorView:
      throw new BufferError(
        'Expected a Tensor as result but received a DLTensor*, whose memory nothing keeps alive after the call; ' +
          'pass memory that native code may keep (Tensor.from, Tensor.adopt) to functions that return their argument',
      );
    case Type.dtype: {
      const packed = Any.low(word);
      return new DataType({ code: packed & 0xff, bits: (packed >> 8) & 0xff, lanes: packed >>> 16 });
    }
    case Type.device:
      return new DeviceValue({ type: Any.deviceType(word), id: Any.deviceId(word) });
    case Type.opaquePointer:
      return new OpaquePointer(Any.bits(word));
    default:
      return taken;
  }
}
