/** `NDArray` of numpy-ts, whose elements are in the memory of its WebAssembly module or in a typed array. */

import { checkDType, type DType, dtypeOfArray, type TypedArray } from '../dtype.js';
import type { DLPackSource } from '../protocol/managed.js';
import type { Tensor } from '../tensor.js';
import { type Adapter, takeObject } from './adapter.js';
import { borrow } from './borrow.js';
import { arrayClasses, readCount, readMemory, readRelease } from './fields.js';
import { lend } from './lend.js';
import type { AdaptOptions, ToOptions } from './options.js';

/** What numpy-ts has inside of an array. Strides and offsets are in elements. */
export interface NumpyStorage {
  /** The memory. */
  readonly data: TypedArray;
  /** The lengths of the axes. */
  readonly shape: readonly number[];
  /** In elements. */
  readonly strides: readonly number[];
  /** The first element in the memory. */
  readonly offset: number;
  /** NumPy's name of the dtype. */
  readonly dtype: string;
  /** A count of owners of memory in the module's heap; null for a typed array. */
  readonly wasmRegion: {
    /** Adds an owner. */
    retain(): void;
    /** Gives an owner back. */
    release(): void;
  } | null;
}

/** The part of an `NDArray` of numpy-ts that the adapter uses. */
export interface NumpyTsArray {
  /** The memory and its layout. */
  readonly storage: NumpyStorage;
}

/** The module `numpy-ts`. */
export interface NumpyTsModule<A> {
  /**
   * Makes an array without setting its elements.
   *
   * @param shape - The lengths of the axes.
   * @param dtype - The element type, by its name in NumPy.
   */
  empty(shape: never, dtype: never): A;
}

export const numpyTsAdapter: Adapter = {
  name: 'numpy-ts',
  object: 'an NDArray of numpy-ts',
  get dtypes() {
    return [...arrayClasses(), 'bool', 'complex64', 'complex128'];
  },
  is: isNumpyTs,
  from: fromNumpyTs,
  to: toNumpyTs,
};

export function isNumpyTs(value: object): value is NumpyTsArray {
  const { storage } = value as NumpyTsArray;
  return Array.isArray(storage?.strides) && typeof storage.offset === 'number' && 'wasmRegion' in storage;
}

/**
 * Makes a tensor over the memory of an array, with its strides. It is an owner of the memory, so the array may be
 * disposed.
 *
 * @param value - An array of numpy-ts.
 * @param options - Whether to copy (`copy`; when absent, only where the library cannot share) or to move the memory out
 *   of the object (`adopt`, false when absent).
 * @returns A tensor that shares the memory, or a copy.
 * @throws ArgumentTypeError for anything but an array of numpy-ts.
 * @throws UnsupportedDTypeError for elements that no dtype describes.
 * @throws BufferError for `adopt`, because the heap keeps its memory.
 * @example
 * ```ts
 * import { fromNumpyTs } from 'dlpack/adapters';
 * import * as np from 'numpy-ts';
 * console.log(fromNumpyTs(np.array([1, 2, 3])).toArray()); // [1, 2, 3]
 * ```
 */
export function fromNumpyTs(value: NumpyTsArray, options?: AdaptOptions): Tensor {
  return takeObject({
    adapter: numpyTsAdapter,
    value,
    options,
    read: () => {
      const { data, shape, strides, offset, dtype: name, wasmRegion } = value.storage;
      const array = readMemory(data);
      // Where there is no Float16Array, numpy-ts has the elements of float16 in a Float32Array.
      const dtype = name === 'bool' || name.startsWith('complex') ? name : (dtypeOfArray(array)?.name ?? name);
      checkDType(dtype, numpyTsAdapter.dtypes, 'DLPack');
      const size = array.BYTES_PER_ELEMENT * (dtype.startsWith('complex') ? 2 : 1);
      const release = wasmRegion === null ? () => {} : readRelease(numpyTsAdapter, wasmRegion, 'release');
      wasmRegion?.retain();
      return borrow({
        adapter: numpyTsAdapter,
        view: () => array,
        dtype: dtype as DType,
        shape: [...shape],
        strides: [...strides],
        byteOffset: readCount(offset, 'offset') * size,
        nbytes: array.byteLength,
        release,
        options,
      });
    },
  });
}

/**
 * Copies a tensor into an array, because numpy-ts has its own memory.
 *
 * @param source - The tensor, or any object with tensors that `fromDLPack` takes.
 * @param np - The module `numpy-ts`.
 * @param options - `copy: false` throws, because the elements are always copied.
 * @returns A new array, which the caller disposes.
 * @throws ArgumentTypeError for anything but a tensor and the module.
 * @throws UnsupportedDTypeError for a dtype that numpy-ts does not have.
 * @throws BufferError for `copy: false`.
 * @throws ForeignError if numpy-ts fails.
 * @example
 * ```ts
 * import { Tensor } from 'dlpack';
 * import { toNumpyTs } from 'dlpack/adapters';
 * import * as np from 'numpy-ts';
 * const array = toNumpyTs(Tensor.from([1, 2, 3]), np);
 * console.log(array.storage.shape); // [3]
 * ```
 */
export function toNumpyTs<A extends NumpyTsArray>(source: DLPackSource, np: NumpyTsModule<A>, options?: ToOptions): A {
  return lend({
    adapter: numpyTsAdapter,
    source,
    library: { value: np, property: 'empty', usage: 'toNumpyTs(x, np), with the module numpy-ts' },
    options,
    copied: 'numpy-ts has its own memory',
    make: ({ array, tensor: { dtype, shape } }) => {
      const made = np.empty([...shape] as never, dtype as never);
      (made.storage.data as Uint8Array).set(array as Uint8Array);
      return made;
    },
  });
}
