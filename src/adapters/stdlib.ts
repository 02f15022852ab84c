/** `@stdlib/ndarray`, with strides, offsets and a mark for read-only arrays. */

import { checkDType, type DType, dtypeOfArray, parseDType } from '../dtype.js';
import type { Tensor } from '../tensor.js';
import {
  type AdaptOptions,
  checkAdapt,
  hasFloat16,
  type LendOptions,
  lend,
  lendStorage,
  memoryOf,
  share,
} from './share.js';

/** The part of a stdlib ndarray that the adapter uses. `dtype` is a string, or an object with that string. */
export interface StdlibArray {
  readonly data: object;
  readonly dtype: unknown;
  /** Arrays, which the library declares as collections. */
  readonly shape: ArrayLike<number>;
  readonly strides: ArrayLike<number>;
  readonly offset: number;
  readonly order: string;
  readonly flags?: { readonly READONLY?: boolean };
}

const plainNames = ['float32', 'float64', 'int8', 'int16', 'int32', 'uint8', 'uint16', 'uint32', 'float16'];
/** These are in classes of the library's own. */
const otherNames = ['bool', 'complex64', 'complex128'];

export function isStdlib(value: object): value is StdlibArray {
  const { data, strides, offset, order } = value as StdlibArray;
  return (
    typeof data === 'object' &&
    data !== null &&
    Array.isArray(strides) &&
    typeof offset === 'number' &&
    typeof order === 'string'
  );
}

/** A tensor over the memory of a stdlib ndarray, with its strides. */
export function fromStdlib(value: StdlibArray, options?: AdaptOptions): Tensor {
  // An ndarray of scijs has an order but no strides, and a tf.Tensor has strides but no order.
  checkAdapt(value, value?.strides && value.order, 'a stdlib ndarray', options);
  const { data, offset, flags } = value;
  const { shape, strides } = value as unknown as Record<'shape' | 'strides', number[]>;
  const given = String(value.dtype);
  let name = (given === 'uint8c' ? 'uint8' : given) as DType;
  if (!otherNames.includes(name)) {
    checkDType(name, plainNames, 'DLPack');
    // The library reads the elements of the array, whatever dtype it was given. Those of float16 are bits on some runtimes.
    if (name !== 'float16') name = (dtypeOfArray(data)?.name as DType) ?? name;
  }
  const layout = {
    shape,
    dtype: name,
    strides: shape.length === 0 ? [] : strides, // an array without axes has one stride
    byteOffset: (offset * parseDType(name).itemBits) / 8,
    readonly: flags?.READONLY === true,
  };
  return share(memoryOf(data), layout, options);
}

/** A stdlib ndarray over the memory of a tensor, with its strides: `toStdlib(x, ndarray)`. */
export function toStdlib<T>(
  source: object,
  ndarray: { new (dtype: never, data: never, shape: number[], strides: number[], offset: number, order: never): T },
  options?: LendOptions,
): T {
  const make = (array: object, { dtype, shape, strides }: Tensor, offset: number) => {
    const steps = shape.length === 0 ? [0] : [...strides];
    return new ndarray(dtype as never, array as never, [...shape], steps, offset, 'row-major' as never);
  };
  return lend(
    source,
    hasFloat16() ? plainNames : plainNames.slice(0, -1),
    'stdlib',
    ndarray,
    'call',
    'use toStdlib(x, ndarray), with the class',
    options,
    make,
    null,
    lendStorage,
  );
}
