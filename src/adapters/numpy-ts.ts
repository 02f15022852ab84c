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
  /** Makes an array without setting its elements. */
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

/** A tensor over the memory of an array, with its strides. It is an owner of the memory, so the array may be disposed. */
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

/** An array with the elements of a tensor, which numpy-ts copies into its own memory: `toNumpyTs(x, np)`. */
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
