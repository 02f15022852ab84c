/**
 * Where a tensor lies in a file, in the same terms for every format.
 *
 * @module
 */

import { type DTypeInfo, sizeBytes } from '../dtype.js';
import { MAX_NDIM, rowMajorStrides } from '../layout.js';
import { FileFormatError } from './error.js';

/** Blocks of quantised numbers, which have no dtype: the tensor holds their bytes. */
export interface Quantization {
  /** GGUF's name, such as `'Q4_K'`. */
  readonly type: string;
  /** Elements and bytes of one block. */
  readonly blockElements: number;
  readonly blockBytes: number;
  /** The shape of the tensor that the blocks stand for. */
  readonly shape: readonly number[];
}

export interface TensorEntry {
  readonly name: string;
  readonly dtype: DTypeInfo;
  readonly shape: readonly number[];
  /** In elements. */
  readonly strides: readonly number[];
  /** From the start of the file to the first byte. */
  readonly start: number;
  readonly nbytes: number;
  /** Flags of the descriptor. */
  readonly flags: number;
  /** Bytes of each number when they are stored with the highest first; 0 when they need no change. */
  readonly swap: number;
  readonly quantization: Quantization | null;
}

/** A row-major tensor of an ordinary dtype. */
export function plainEntry(
  name: string,
  dtype: DTypeInfo,
  shape: readonly number[],
  start: number,
  nbytes: number,
): TensorEntry {
  return {
    name,
    dtype,
    shape,
    strides: rowMajorStrides(shape),
    start,
    nbytes,
    flags: 0,
    swap: 0,
    quantization: null,
  };
}

/** Bytes of a shape read from a file; throws for what no memory can hold. */
export function entryBytes(
  path: string,
  offset: number,
  name: string,
  dtype: DTypeInfo,
  shape: readonly number[],
  padded = false,
): number {
  let size = 1;
  let bound = 1; // empty axes counted as one: strides must not overflow either
  for (const length of shape) {
    if (!Number.isSafeInteger(length) || length < 0) {
      throw new FileFormatError(path, offset, `'${name}' has a shape with the length ${length}`);
    }
    size *= length;
    bound *= length === 0 ? 1 : length;
  }
  if (shape.length > MAX_NDIM) {
    throw new FileFormatError(path, offset, `'${name}' has ${shape.length} axes; at most ${MAX_NDIM} are supported`);
  }
  if (!(bound * Math.max(8, dtype.itemBits) <= Number.MAX_SAFE_INTEGER)) {
    throw new FileFormatError(path, offset, `'${name}' of shape [${shape.join(', ')}] has more than 2^53 - 1 bits`);
  }
  return sizeBytes(dtype, size, padded);
}
