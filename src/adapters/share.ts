/** A tensor over the array of a library. */

import type { DType, TypedArray } from '../dtype.js';
import { BufferError, textOf } from '../errors.js';
import { copyOf } from '../from-dlpack.js';
import type { WrapOptions } from '../storage/arrays.js';
import { Tensor } from '../tensor.js';
import type { Adapter } from './adapter.js';
import { type AdaptOptions, checkCopied } from './options.js';

/** An array of a library, and what it contains. */
interface Shared {
  readonly adapter: Adapter;
  readonly array: unknown;
  readonly layout: WrapOptions<DType>;
  readonly options: AdaptOptions | undefined;
  /** Why the array is a copy of the library's memory; absent when it is the memory itself. */
  readonly copied?: string | false;
}

/** A tensor over an array of a library, or a copy where the options ask for one. */
export function share({ adapter, array, layout, options, copied }: Shared): Tensor {
  checkCopied(options, copied);
  const tensor = Tensor.wrap(array as TypedArray, layout as { dtype: DType });
  if (options?.copy) return copied ? tensor : copyOf(tensor);
  return options?.adopt ? adopt(tensor, array, layout, adapter) : tensor;
}

/** Moves the memory out of the array. `tensor` needs no dispose(), because its memory is the array's. */
function adopt(tensor: Tensor, array: unknown, { byteOffset }: WrapOptions<DType>, { name }: Adapter): Tensor {
  const { shape, dtype, isContiguous, isReadOnly } = tensor;
  try {
    if (isContiguous && !isReadOnly && !byteOffset) return Tensor.adopt(array as TypedArray, { shape, dtype });
    throw new BufferError('it is not a writable row-major array');
  } catch (cause) {
    const message = `Expected memory of ${name} that can be moved; leave out { adopt }, or use { copy: true }: ${textOf(cause)}`;
    throw new BufferError(message, { cause });
  }
}
