/** `ndarray` of scijs, with strides and offsets that count elements. */

import type { Tensor } from '../tensor.js';
import {
  type AdaptOptions,
  arrayClasses,
  checkAdapt,
  type LendOptions,
  lend,
  lendStorage,
  memoryOf,
  share,
} from './share.js';

/** The part of an `ndarray` that the adapter uses. */
export interface NdArray {
  readonly data: object;
  readonly shape: readonly number[];
  readonly stride: readonly number[];
  readonly offset: number;
}

export function isNdarray(value: object): value is NdArray {
  const { data, shape, stride, offset } = value as NdArray;
  return (
    typeof data === 'object' &&
    data !== null &&
    Array.isArray(shape) &&
    Array.isArray(stride) &&
    typeof offset === 'number'
  );
}

/** A tensor over the memory of an ndarray, with its strides. */
export function fromNdarray(value: NdArray, options?: AdaptOptions): Tensor {
  checkAdapt(value, Array.isArray(value?.stride) ? value.data : null, 'an ndarray', options);
  const { data, shape, stride, offset = 0 } = value; // a chunk of zarrita has no offset
  const array = memoryOf(data);
  return share(array, { shape, strides: stride, byteOffset: offset * array.BYTES_PER_ELEMENT }, options);
}

/** An ndarray over the memory of a tensor, with its strides: `toNdarray(x, ndarray)`. */
export function toNdarray<T>(
  source: object,
  ndarray: (data: never, shape: number[], stride: number[], offset: number) => T,
  options?: LendOptions,
): T {
  const make = (array: object, { shape, strides }: Tensor, offset: number) =>
    ndarray(array as never, [...shape], [...strides], offset);
  return lend(
    source,
    arrayClasses(),
    'ndarray',
    ndarray,
    'call',
    'use toNdarray(x, ndarray), with the function',
    options,
    make,
    null,
    lendStorage,
  );
}
