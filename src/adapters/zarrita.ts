/** Chunks of zarrita: `{ data, shape, stride }`. */

import { dtypeOfArray } from '../dtype.js';
import { UnsupportedDTypeError } from '../errors.js';
import type { DLPackSource } from '../protocol/managed.js';
import type { Tensor } from '../tensor.js';
import { type Adapter, takeObject } from './adapter.js';
import { arrayClasses, readCount, readMemory } from './fields.js';
import { lend } from './lend.js';
import { isStrided } from './ndarray.js';
import type { AdaptOptions, ToOptions } from './options.js';
import { share } from './share.js';

/** What `zarr.get` returns. Strides count elements. */
export interface ZarritaChunk<A = object> {
  /** The elements. */
  readonly data: A;
  /** The lengths of the axes. */
  readonly shape: number[];
  /** The strides, in elements. */
  readonly stride: number[];
}

export const zarritaAdapter: Adapter = {
  name: 'zarrita',
  object: 'a chunk of zarrita, { data, shape, stride }',
  get dtypes() {
    return [...arrayClasses(), 'bool'];
  },
  is: isZarrita,
  from: fromZarrita,
  to: toZarrita,
};

export function isZarrita(value: object): value is ZarritaChunk {
  return isStrided(value) && !('offset' in value);
}

/**
 * Makes a tensor over the memory of a chunk, with its strides.
 *
 * @param value - What `zarr.get` returns.
 * @param options - Whether to copy (`copy`; when absent, only where the library cannot share) or to move the memory out
 *   of the object (`adopt`, false when absent).
 * @returns A tensor that shares the memory, or a copy.
 * @throws ArgumentTypeError for anything but a chunk.
 * @throws UnsupportedDTypeError for a chunk of strings or objects.
 * @throws LayoutError if elements would lie outside of the array.
 * @throws BufferError if `adopt` asks for a move that is impossible.
 * @example
 * ```ts
 * import { fromZarrita } from 'dlpack/adapters';
 * const chunk = { data: new Float32Array([1, 2, 3, 4]), shape: [2, 2], stride: [1, 2] }; // await zarr.get(array)
 * console.log(fromZarrita(chunk).toArray()); // [[1, 3], [2, 4]]
 * ```
 */
export function fromZarrita(value: ZarritaChunk, options?: AdaptOptions): Tensor {
  return takeObject({
    adapter: zarritaAdapter,
    value,
    is: isStrided,
    options,
    read: () => {
      const { data, shape, stride: strides, offset = 0 } = value as ZarritaChunk & { readonly offset?: number };
      const natural = dtypeOfArray(data);
      if (natural === undefined && ('chars' in data || Array.isArray(data))) {
        throw new UnsupportedDTypeError('string', 'Expected a chunk of numbers but received one of strings or objects');
      }
      const array = readMemory(data);
      const byteOffset = readCount(offset, 'offset') * array.BYTES_PER_ELEMENT;
      // zarrita has booleans in a class of its own.
      const dtype = natural?.name ?? 'bool';
      return share({ adapter: zarritaAdapter, array, layout: { shape, strides, dtype, byteOffset }, options });
    },
  });
}

/**
 * Makes a chunk over the memory of a tensor, for `zarr.set`.
 *
 * @param source - The tensor, or any object with tensors that `fromDLPack` takes.
 * @param options - Whether to copy; when absent, only where the library cannot share.
 * @returns A chunk that shares the memory, or has a copy of memory that is read-only or not row-major.
 * @throws ArgumentTypeError for anything but a tensor.
 * @throws UnsupportedDTypeError for a dtype that zarrita does not have.
 * @throws BufferError if `copy: false` forbids a copy that is needed.
 * @example
 * ```ts
 * import { Tensor } from 'dlpack';
 * import { toZarrita } from 'dlpack/adapters';
 * console.log(toZarrita(Tensor.from([1, 2])).shape); // [2]
 * ```
 */
export function toZarrita(source: DLPackSource, options?: ToOptions): ZarritaChunk<ArrayBufferView> {
  return lend({
    adapter: zarritaAdapter,
    source,
    options,
    dtypes: arrayClasses(),
    make: ({ array, tensor: { shape, strides } }) => ({ data: array, shape: [...shape], stride: [...strides] }),
  });
}
