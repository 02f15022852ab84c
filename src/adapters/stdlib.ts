/** `@stdlib/ndarray`, with strides, offsets and a mark for read-only arrays. */

import { checkDType, type DType, dtypeOfArray, parseDType } from '../dtype.js';
import type { DLPackSource } from '../protocol/managed.js';
import type { Tensor } from '../tensor.js';
import { type Adapter, takeObject } from './adapter.js';
import { hasFloat16, readCount, readMemory } from './fields.js';
import { lend } from './lend.js';
import type { AdaptOptions, ToOptions } from './options.js';
import { share } from './share.js';

/** The part of a stdlib ndarray that the adapter uses. `dtype` is a string, or an object with that string. */
export interface StdlibArray {
  /** The elements: a typed array. */
  readonly data: object;
  /** The element type, by its name in stdlib. */
  readonly dtype: unknown;
  /** Arrays, which the library declares as collections. */
  readonly shape: ArrayLike<number>;
  /** The strides, in elements. */
  readonly strides: ArrayLike<number>;
  /** The place of the first element in `data`. */
  readonly offset: number;
  /** `'row-major'` or `'column-major'`. */
  readonly order: string;
  /** Properties of the memory. */
  readonly flags?: {
    /** True: the array refuses writes. */
    readonly READONLY?: boolean;
  };
}

const plainNames = ['float32', 'float64', 'int8', 'int16', 'int32', 'uint8', 'uint16', 'uint32', 'float16'];
/** These are in classes of the library's own. */
const otherNames = ['bool', 'complex64', 'complex128'];

export const stdlibAdapter: Adapter = {
  name: 'stdlib',
  object: 'a stdlib ndarray',
  get dtypes() {
    return [...plainNames, ...otherNames];
  },
  is: isStdlib,
  from: fromStdlib,
  to: toStdlib,
};

/** An ndarray of scijs has an order but no strides, and a tf.Tensor has strides but no order. */
export function isStdlib(value: object): value is StdlibArray {
  const { data, shape, strides, offset, order } = value as StdlibArray;
  return (
    typeof data === 'object' &&
    data !== null &&
    Array.isArray(shape) &&
    Array.isArray(strides) &&
    typeof offset === 'number' &&
    typeof order === 'string'
  );
}

/**
 * Makes a tensor over the memory of a stdlib ndarray, with its strides.
 *
 * @param value - An ndarray of `@stdlib/ndarray`.
 * @param options - Whether to copy (`copy`; when absent, only where the library cannot share) or to move the memory out
 *   of the object (`adopt`, false when absent).
 * @returns A tensor that shares the memory, or a copy.
 * @throws ArgumentTypeError for anything but an ndarray over a typed array.
 * @throws UnsupportedDTypeError for elements that no dtype describes.
 * @throws LayoutError if elements would lie outside of the array.
 * @throws BufferError if `adopt` asks for a move that is impossible.
 * @example
 * ```ts
 * import Stdlib from '@stdlib/ndarray-ctor';
 * import { fromStdlib } from 'dlpack/adapters';
 * const columns = new Stdlib('float32', new Float32Array([1, 2, 3, 4]), [2, 2], [1, 2], 0, 'column-major');
 * console.log(fromStdlib(columns).toArray()); // [[1, 3], [2, 4]]
 * ```
 */
export function fromStdlib(value: StdlibArray, options?: AdaptOptions): Tensor {
  return takeObject({
    adapter: stdlibAdapter,
    value,
    options,
    read: () => {
      const { data, offset, flags } = value;
      const { shape, strides } = value as unknown as Record<'shape' | 'strides', number[]>;
      const given = String(value.dtype);
      let dtype = (given === 'uint8c' ? 'uint8' : given) as DType;
      checkDType(dtype, stdlibAdapter.dtypes, 'DLPack');
      // The library reads the elements of the array, whatever dtype it was given. Those of float16 are bits on some runtimes.
      if (dtype !== 'float16' && !otherNames.includes(dtype)) dtype = dtypeOfArray(data)?.name ?? dtype;
      return share({
        adapter: stdlibAdapter,
        array: readMemory(data),
        layout: {
          shape,
          dtype,
          strides: shape.length === 0 ? [] : strides, // an array without axes has one stride
          byteOffset: (readCount(offset, 'offset') * parseDType(dtype).itemBits) / 8,
          readonly: flags?.READONLY === true,
        },
        options,
      });
    },
  });
}

/**
 * Makes a stdlib ndarray over the memory of a tensor, with its strides.
 *
 * @param source - The tensor, or any object with tensors that `fromDLPack` takes.
 * @param ndarray - The class, of `@stdlib/ndarray-ctor`.
 * @param options - Whether to copy; when absent, only where the library cannot share.
 * @returns An ndarray that shares the memory, or has a copy of memory that is read-only.
 * @throws ArgumentTypeError for anything but a tensor and the class.
 * @throws UnsupportedDTypeError for a dtype that stdlib does not have.
 * @throws BufferError if `copy: false` forbids a copy that is needed.
 * @throws ForeignError if stdlib fails.
 * @example
 * ```ts
 * import Stdlib from '@stdlib/ndarray-ctor';
 * import { Tensor } from 'dlpack';
 * import { toStdlib } from 'dlpack/adapters';
 * const array = toStdlib(Tensor.from([[1, 2], [3, 4]]).transpose(), Stdlib);
 * console.log(array.get(0, 1)); // 3
 * ```
 */
export function toStdlib<T>(
  source: DLPackSource,
  ndarray: { new (dtype: never, data: never, shape: number[], strides: number[], offset: number, order: never): T },
  options?: ToOptions,
): T {
  return lend({
    adapter: stdlibAdapter,
    source,
    library: { value: ndarray, property: 'call', usage: 'toStdlib(x, ndarray), with the class' },
    options,
    dtypes: hasFloat16() ? plainNames : plainNames.slice(0, -1),
    hasStrides: true,
    make: ({ array, tensor: { dtype, shape, strides }, offset }) => {
      const steps = shape.length === 0 ? [0] : [...strides];
      return new ndarray(dtype as never, array as never, [...shape], steps, offset, 'row-major' as never);
    },
  });
}
