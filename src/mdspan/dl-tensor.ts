/**
 * DLTensor: the fields of the C struct as a plain object.
 *
 * @module
 */

import type { DLDevice } from '../device.js';
import type { DLDataType } from '../dtype.js';
import type { Pointer } from './pointer.js';

export interface DLTensor {
  /**
   * The address of the memory; null when there are no elements. Without native code (browsers) there are no addresses,
   * and `data` holds the bytes from the first element on.
   */
  readonly data: bigint | Uint8Array | null;
  readonly device: DLDevice;
  readonly ndim: number;
  readonly dtype: DLDataType;
  /** Null without axes. */
  readonly shape: ArrayLike<number | bigint> | null;
  /** In elements. Null without axes. */
  readonly strides: ArrayLike<number | bigint> | null;
  /** Bytes from `data` to the first element. */
  readonly byteOffset: number | bigint;
}

/**
 * The memory of the DLTensors that were made here; null if a program changed the pointer. An address keeps nothing
 * alive. When a DLTensor becomes a span again, this map provides the memory itself, so that the span cannot use a typed
 * array that the garbage collector has freed.
 */
export const origins = new WeakMap<DLTensor, () => Pointer | null>();
