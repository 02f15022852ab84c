/** `ndarray` of scijs, with strides and offsets that count elements. */

import type { NaturalDType } from '../dtype.js';
import type { DLPackSource } from '../protocol/managed.js';
import type { Tensor } from '../tensor.js';
import { type Adapter, takeObject } from './adapter.js';
import { arrayClasses, readCount, readMemory } from './fields.js';
import { lend } from './lend.js';
import type { AdaptOptions, ToOptions } from './options.js';
import { share } from './share.js';

/** The part of an `ndarray` that the adapter uses. */
export interface NdArray {
  /** The elements: a typed array. */
  readonly data: object;
  /** The lengths of the axes. */
  readonly shape: readonly number[];
  /** The strides, in elements. */
  readonly stride: readonly number[];
  /** The place of the first element in `data`. */
  readonly offset: number;
}

export const ndarrayAdapter: Adapter = {
  name: 'ndarray',
  object: 'an ndarray',
  get dtypes() {
    return arrayClasses();
  },
  is: isNdarray,
  from: fromNdarray,
  to: toNdarray,
};

export function isNdarray(value: object): value is NdArray {
  return isStrided(value) && typeof (value as NdArray).offset === 'number';
}

/** True for an ndarray, and for a chunk of zarrita, which is an ndarray without an offset. */
export function isStrided(value: object): boolean {
  const { data, shape, stride } = value as NdArray;
  return typeof data === 'object' && data !== null && Array.isArray(shape) && Array.isArray(stride);
}

/**
 * Makes a tensor over the memory of an ndarray, with its strides.
 *
 * @param value - An ndarray over a typed array.
 * @param options - Whether to copy (`copy`; when absent, only where the library cannot share) or to move the memory out
 *   of the object (`adopt`, false when absent).
 * @returns A tensor that shares the memory, or a copy.
 * @throws ArgumentTypeError for anything but an ndarray over a typed array.
 * @throws LayoutError if elements would lie outside of the array.
 * @throws BufferError if `adopt` asks for a move that is impossible.
 * @example
 * ```ts
 * import { fromNdarray } from 'dlpack/adapters';
 * import ndarray from 'ndarray';
 * const x = fromNdarray(ndarray(new Float32Array([1, 2, 3, 4]), [2, 2]).transpose(1, 0));
 * console.log(x.strides, x.toArray()); // [1, 2] [[1, 3], [2, 4]]
 * ```
 */
export function fromNdarray<T extends NdArray>(value: T, options?: AdaptOptions): Tensor<NaturalDType<T['data']>> {
  return takeObject<AdaptOptions, Tensor>({
    adapter: ndarrayAdapter,
    value,
    is: isStrided,
    options,
    read: () => {
      const { data, shape, stride: strides, offset = 0 } = value;
      const array = readMemory(data);
      const byteOffset = readCount(offset, 'offset') * array.BYTES_PER_ELEMENT;
      return share({ adapter: ndarrayAdapter, array, layout: { shape, strides, byteOffset }, options });
    },
  }) as Tensor<NaturalDType<T['data']>>;
}

/**
 * Makes an ndarray over the memory of a tensor, with its strides.
 *
 * @param source - The tensor, or any object with tensors that `fromDLPack` takes.
 * @param ndarray - The function.
 * @param options - Whether to copy; when absent, only where the library cannot share.
 * @returns An ndarray that shares the memory, or has a copy of memory that is read-only.
 * @throws ArgumentTypeError for anything but a tensor and the function.
 * @throws UnsupportedDTypeError for a dtype that the library does not have.
 * @throws BufferError if `copy: false` forbids a copy that is needed.
 * @example
 * ```ts
 * import { Tensor } from 'dlpack';
 * import { toNdarray } from 'dlpack/adapters';
 * import ndarray from 'ndarray';
 * const array = toNdarray(Tensor.from([[1, 2], [3, 4]]).transpose(), ndarray);
 * console.log(array.get(0, 1)); // 3
 * ```
 */
export function toNdarray<T>(
  source: DLPackSource,
  ndarray: (data: never, shape: number[], stride: number[], offset: number) => T,
  options?: ToOptions,
): T {
  return lend({
    adapter: ndarrayAdapter,
    source,
    library: { value: ndarray, property: 'call', usage: 'toNdarray(x, ndarray), with the function' },
    options,
    hasStrides: true,
    make: ({ array, tensor: { shape, strides }, offset }) => ndarray(array as never, [...shape], [...strides], offset),
  });
}
