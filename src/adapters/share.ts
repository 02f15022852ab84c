/**
 * The two steps that all adapters have in common: a tensor over a library's array, and an array for a library over a
 * tensor's memory.
 *
 * @module
 */

import type { DType, TypedArray } from '../dtype.js';
import { BufferError, UnsupportedDTypeError } from '../errors.js';
import { fromDLPack } from '../from-dlpack.js';
import { Tensor } from '../tensor.js';
import { descriptorOf } from '../view.js';

/** The options of every `fromX`. */
export interface AdaptOptions {
  /** true: always copy; false: never copy, throw instead; null: copy only where the library cannot share. */
  copy?: boolean | null;
  /**
   * Moves the memory out of the library's object, whose array becomes empty. Native code may keep such memory, so
   * Python and kernels share it.
   */
  adopt?: boolean;
  /** The GPUDevice of a tensor in GPU memory, for libraries whose tensors do not name it. */
  gpuDevice?: object;
  /** `tf.backend()` of TensorFlow.js on WebGPU: shares the tensor's GPUBuffer. */
  backend?: object;
}

/** The options of every `toX`. */
export interface LendOptions {
  /** true: always copy; false: never copy, throw instead; null: copy only where the library cannot share. */
  copy?: boolean | null;
  /** The GPUDevice that the library uses. A tensor on another GPUDevice is refused with an error that names both. */
  gpuDevice?: object;
}

/** How the elements lie in the library's array. */
export interface ArrayLayout {
  readonly dtype?: DType | undefined;
  /** In elements; row-major when absent. */
  readonly strides?: readonly number[] | undefined;
  /** Elements before the first one. */
  readonly offset?: number;
  readonly readonly?: boolean;
  /** Why the array is a copy of the library's memory; absent when it is the memory itself. */
  readonly copied?: string;
}

/** A tensor over an array of a library, or a copy where the options ask for one. */
export function share(
  array: unknown,
  shape: readonly number[],
  options: AdaptOptions | undefined,
  layout: ArrayLayout = {},
): Tensor {
  const { dtype, strides, offset = 0, readonly = false, copied } = layout;
  if (options?.copy === false && copied !== undefined) throw new BufferError(`Expected shared memory but ${copied}`);
  const view = array as TypedArray;
  if (options?.adopt === true && strides === undefined) {
    return Tensor.adopt(view, { shape, dtype: dtype as DType });
  }
  const tensor = Tensor.wrap(view, {
    shape,
    dtype: dtype as DType,
    strides: strides as readonly number[],
    byteOffset: offset === 0 ? 0 : offset * view.BYTES_PER_ELEMENT,
    readonly,
  });
  return options?.copy === true && copied === undefined ? copyOf(tensor) : tensor;
}

/** A copy of a tensor that nothing else needs. */
export function copyOf(tensor: Tensor): Tensor {
  try {
    return tensor.copy();
  } finally {
    tensor.dispose();
  }
}

/** Tensors whose memory a library uses, by the array that the library has. */
const lent = new WeakMap<object, Tensor>();

/** Keeps the memory of a tensor for as long as `user` exists. Takes the tensor over. */
export function keepFor<T extends object>(user: T, tensor: Tensor): T {
  lent.set(user, tensor);
  return user;
}

/**
 * The elements of a tensor in row-major order, for a library that has the dtypes `names`. The array keeps the memory,
 * even after the tensor was disposed. Memory is copied where it is strided or read-only.
 */
export function lend(
  source: object,
  names: string,
  library: string,
  options?: LendOptions,
): { array: TypedArray; tensor: Tensor } {
  let tensor = fromDLPack(source);
  try {
    checkDType(tensor.dtype, names, library);
    if (options?.copy === true) {
      tensor = copyOf(tensor);
    } else if (!tensor.isContiguous || tensor.readonly) {
      if (options?.copy === false) {
        throw new BufferError(
          `Expected memory that the library can share but it is ${tensor.readonly ? 'read-only' : 'not row-major'}; allow a copy`,
        );
      }
      tensor = copyOf(tensor);
    }
    const array = tensor.data as TypedArray;
    if (lent.has(array)) tensor.dispose();
    else keepFor(array, tensor);
    return { array, tensor: lent.get(array) as Tensor };
  } catch (error) {
    tensor.dispose();
    throw error;
  }
}

/** Throws unless the library has the dtype. `names` are separated by spaces. */
export function checkDType(dtype: string, names: string, library: string): void {
  if (names.split(' ').includes(dtype)) return;
  throw new UnsupportedDTypeError(
    dtype,
    `Expected a dtype that ${library} has (${names}) but received '${dtype}'; convert it first with astype()`,
  );
}

/** The memory of a tensor as one typed array of its dtype with strides and an offset in elements, without a copy. */
export function lendStrided(source: object): { array: TypedArray; tensor: Tensor; offset: number } {
  const tensor = fromDLPack(source);
  try {
    const { storage, dtype, bitOffset } = descriptorOf(tensor);
    if (tensor.readonly) throw new BufferError('Expected writable memory but the tensor is read-only; pass a copy()');
    descriptorOf(tensor).checkHost();
    const size = dtype.array.BYTES_PER_ELEMENT;
    const array = new dtype.array(storage.buffer(), storage.start, Math.floor(storage.nbytes / size));
    return { array: keepFor(array, tensor), tensor, offset: bitOffset / 8 / size };
  } catch (error) {
    tensor.dispose();
    throw error;
  }
}
