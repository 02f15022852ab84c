/** Fields of foreign objects, checked after they have been read once, because a getter may return something else next time. */

import { arrayDTypes, dtypeOfArray, type TypedArray } from '../dtype.js';
import { ArgumentTypeError, checkCount } from '../errors.js';
import { bufferLength } from '../storage/storage.js';
import { type Adapter, callLibrary } from './adapter.js';

/** A Float16Array exists. Otherwise its bits are in a Uint16Array, which some libraries would take for integers. */
export const hasFloat16 = () => 'Float16Array' in globalThis;

/** For libraries that take the dtype from the class of the array. */
export const arrayClasses = () => (hasFloat16() ? arrayDTypes : arrayDTypes.slice(0, -1));

/** An offset, a length or another count. */
export function readCount(value: unknown, field: string): number {
  checkCount(value as number, field);
  return value as number;
}

/** Calls a method that releases an object of a library. An object without the method is refused now, not at its release. */
export function readRelease({ name: library }: Adapter, object: object, name: string): () => void {
  const methods = object as Record<string, () => void>;
  const method: unknown = methods[name];
  if (typeof method !== 'function') throw new ArgumentTypeError(name, 'a function', method);
  return () => callLibrary(library, () => void methods[name]?.());
}

/**
 * The memory of an array-like object: the typed array itself, or the bytes of a view or of a class that wraps one. Throws
 * for elements that have no memory of their own.
 */
export function readMemory(value: unknown): TypedArray {
  const array = dtypeOfArray(value) !== undefined ? (value as TypedArray) : viewedBytes(value);
  if (array !== null) return array;
  throw new ArgumentTypeError('data', 'elements in a typed array', value, 'use Tensor.from()');
}

/** The bytes that an object names by `buffer`, `byteOffset` and `byteLength`; null if no buffer has them. */
function viewedBytes(value: unknown): Uint8Array | null {
  try {
    const { buffer, byteOffset, byteLength } = value as DataView;
    const length = bufferLength(buffer);
    const isInside = [byteOffset, byteLength].every((count) => Number.isSafeInteger(count) && count >= 0);
    if (length === null || !isInside || byteOffset + byteLength > length) return null;
    return new Uint8Array(buffer, byteOffset, byteLength);
  } catch {
    return null; // a proxy of a typed array, or a view of a detached buffer
  }
}
