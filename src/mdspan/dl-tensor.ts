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
   * The address of the memory, null when there are no elements. Where no native code can tell addresses (browsers), the
   * bytes themselves, from the first element on.
   */
  readonly data: bigint | Uint8Array | null;
  readonly device: DLDevice;
  readonly ndim: number;
  readonly dtype: DLDataType;
  /** Null without axes. */
  readonly shape: ArrayLike<number | bigint> | null;
  /** In elements. Null without axes. */
  readonly strides: ArrayLike<number | bigint> | null;
  /** From `data` to the first element. */
  readonly byteOffset: number | bigint;
}

/**
 * What the DLTensors made here point at, null for those that a program pointed elsewhere. An address keeps nothing alive; on
 * the way back to a span the memory itself is found here, so that the round trip cannot outlive a typed array that the
 * collector took.
 */
export const origins = new WeakMap<DLTensor, () => Pointer | null>();
