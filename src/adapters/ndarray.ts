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

/** A tensor over the memory of an ndarray, with its strides. */
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

/** An ndarray over the memory of a tensor, with its strides: `toNdarray(x, ndarray)`. */
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
