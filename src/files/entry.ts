/** The location of a tensor in a file, in the same terms for every format. */

import { cpu } from '../device.js';
import { type DTypeInfo, dtypeFromName, sizeBytes } from '../dtype.js';
import { MAX_NDIM, rowMajorStrides } from '../layout.js';
import { Descriptor } from '../storage/descriptor.js';
import { findLayout } from '../storage/layouts.js';
import type { Storage } from '../storage/storage.js';
import { FileFormatError } from './error.js';

/** Describes blocks of quantised numbers. They have no dtype, so the tensor holds their bytes. */
export interface Quantization {
  /** GGUF's name, such as `'Q4_K'`. */
  readonly type: string;
  /** Elements and bytes of one block. */
  readonly blockElements: number;
  /** Bytes of one block. */
  readonly blockBytes: number;
  /** The shape of the tensor that the blocks encode. */
  readonly shape: readonly number[];
}

export const uint8 = dtypeFromName('uint8');

/** The tensor of `length` bytes of a storage, from the byte `start` on. */
export function byteRange(storage: Storage, start: number, length: number, device = cpu, flags = 0): Descriptor {
  return new Descriptor(storage, findLayout(uint8, device, [length], [1], flags), start * 8);
}

export interface TensorEntry {
  readonly name: string;
  readonly dtype: DTypeInfo;
  readonly shape: readonly number[];
  /** In elements. */
  readonly strides: readonly number[];
  /** Bytes from the start of the file to the first byte of the tensor. */
  readonly start: number;
  readonly nbytes: number;
  /** Flags of the descriptor. */
  readonly flags: number;
  /** The size of each number in bytes if it is big-endian and must be swapped; otherwise 0. */
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

/** The bytes of a shape that was read from a file. Throws if no memory can hold them. */
export function entryBytes(
  path: string,
  offset: number,
  name: string,
  dtype: DTypeInfo,
  shape: readonly number[],
  padded = false,
): number {
  let size = 1;
  let bound = 1; // empty axes count as one, because strides must not overflow either
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
