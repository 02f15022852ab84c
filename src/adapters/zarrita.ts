/** Chunks of zarrita: `{ data, shape, stride }`. */

import { dtypeOfArray } from '../dtype.js';
import { UnsupportedDTypeError } from '../errors.js';
import type { Tensor } from '../tensor.js';
import { type AdaptOptions, arrayClasses, checkAdapt, type LendOptions, lend, memoryOf, share } from './share.js';

/** What `zarr.get` returns. Strides count elements. */
export interface ZarritaChunk<A = object> {
  readonly data: A;
  readonly shape: number[];
  readonly stride: number[];
}

export function isZarrita(value: object): value is ZarritaChunk {
  const { data, shape, stride } = value as ZarritaChunk;
  return (
    typeof data === 'object' && data !== null && Array.isArray(shape) && Array.isArray(stride) && !('offset' in value)
  );
}

/** A tensor over the memory of a chunk, with its strides. */
export function fromZarrita(value: ZarritaChunk, options?: AdaptOptions): Tensor {
  // Other libraries have a function or a number of the name stride.
  checkAdapt(
    value,
    Array.isArray(value?.stride) ? value.data : null,
    'a chunk of zarrita, { data, shape, stride }',
    options,
  );
  // A chunk has no offset, but an ndarray is a chunk with one.
  const { data, shape, stride, offset = 0 } = value as ZarritaChunk & { readonly offset?: number };
  if (dtypeOfArray(data) !== undefined) {
    const byteOffset = offset * (data as Uint8Array).BYTES_PER_ELEMENT;
    return share(data, { shape, strides: stride, byteOffset }, options);
  }
  if ('chars' in data || Array.isArray(data)) {
    throw new UnsupportedDTypeError('string', 'Expected a chunk of numbers but received one of strings or objects');
  }
  return share(memoryOf(data), { shape, strides: stride, dtype: 'bool' }, options);
}

/** A chunk over the memory of a tensor, for `zarr.set`: `toZarrita(x)`. */
export function toZarrita(source: object, options?: LendOptions): ZarritaChunk<ArrayBufferView> {
  // A chunk is a plain object, so its class is Object, and the user passes no module.
  return lend(source, arrayClasses(), 'zarrita', Object, 'call', '', options, (data, { shape, strides }) => ({
    data,
    shape: [...shape],
    stride: [...strides],
  }));
}
