/**
 * The two steps that all adapters have in common: a tensor over a library's array, and an array for a library over a
 * tensor's memory.
 *
 * @module
 */

import { type DType, dtypeOfArray, parseDType, type TypedArray } from '../dtype.js';
import { ArgumentTypeError, BufferError, UnsupportedDTypeError } from '../errors.js';
import { fromDLPack } from '../from-dlpack.js';
import { checkOptions, type OptionNames } from '../options.js';
import type { Descriptor } from '../storage/descriptor.js';
import { Tensor } from '../tensor.js';
import { descriptorOf, TensorView } from '../view.js';

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

const adaptNames: OptionNames<AdaptOptions> = { copy: true, adopt: true, gpuDevice: true, backend: true };
const lendNames: OptionNames<LendOptions> = { copy: true, gpuDevice: true };

/** Throws for an option that a `fromX` does not have. `more`: the options of that one `fromX`. */
export function checkAdapt(options: AdaptOptions | undefined, more?: Record<string, true>): void {
  if (options === undefined) return;
  checkOptions<object>(options, more === undefined ? adaptNames : { ...adaptNames, ...more }, '{ copy: true }');
}

/** Throws for an option that a `toX` does not have. */
export function checkLend(options: LendOptions | undefined): void {
  if (options !== undefined) checkOptions(options, lendNames, '{ copy: true }');
}

/** The dtypes of typed arrays that every runtime has. */
const olderTypes = ['float32', 'float64', 'int8', 'int16', 'int32', 'int64', 'uint8', 'uint16', 'uint32', 'uint64'];

/** The dtypes of typed arrays, which many libraries have. */
export const arrayTypes = [...olderTypes, 'float16'];

/** A Float16Array exists. Otherwise its bits are in a Uint16Array, which some libraries would take for integers. */
export const hasFloat16 = () => 'Float16Array' in globalThis;

/** For libraries that take the dtype from the class of the array. */
export const arrayClasses = () => (hasFloat16() ? arrayTypes : olderTypes);

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
  const tensor = Tensor.wrap(view, {
    shape,
    dtype: dtype as DType,
    strides: strides as readonly number[],
    byteOffset: offset && offset * (dtype === undefined ? view.BYTES_PER_ELEMENT : parseDType(dtype).itemBits / 8),
    readonly,
  });
  if (options?.adopt === true) return adopted(tensor, view, offset);
  return copied === undefined ? copyIfAsked(tensor, options) : tensor;
}

/**
 * The memory of an array-like object of a library: the typed array itself, or the bytes of a class that wraps one. Throws
 * for elements that have no memory of their own.
 */
export function memoryOf(data: object): TypedArray {
  if (dtypeOfArray(data) !== undefined) return data as TypedArray;
  const { buffer, byteOffset, byteLength } = data as Uint8Array;
  if (buffer === undefined) throw new ArgumentTypeError('data', 'elements in a typed array', data, 'use Tensor.from()');
  return new Uint8Array(buffer, byteOffset, byteLength);
}

/** The tensor in memory that was moved out of the library's array. */
function adopted(tensor: Tensor, array: TypedArray, offset: number): Tensor {
  const { shape, dtype, isContiguous, readonly } = tensor;
  tensor.dispose();
  if (!isContiguous || readonly || offset !== 0) {
    throw new BufferError('Expected a writable row-major array for adopt; use { copy: true }');
  }
  return Tensor.adopt(array, { shape, dtype });
}

/** A copy of a tensor that nothing else needs. */
export function copyOf(tensor: Tensor): Tensor {
  try {
    return tensor.copy();
  } finally {
    tensor.dispose();
  }
}

/** The tensor, or a copy where the options ask for one. */
export function copyIfAsked(tensor: Tensor, options: AdaptOptions | undefined): Tensor {
  return options?.copy === true ? copyOf(tensor) : tensor;
}

/**
 * What libraries use, by the array that the library has. Descriptors, not Tensors, because `scope` would dispose Tensors
 * that the library still needs.
 */
const lent = new WeakMap<object, Descriptor>();

/** Keeps the memory for as long as `array` exists: the garbage collector releases the reference. */
function keepFor(array: object, descriptor: Descriptor): void {
  descriptor.storage.refs++;
  lent.set(array, descriptor);
}

/** What a library gets: the array, a view of the array's elements, and the number of elements before the first. */
interface Lent {
  readonly array: TypedArray;
  readonly tensor: TensorView;
  readonly offset: number;
}

/**
 * The memory of a tensor for a library that has the dtypes `names`. The array keeps the memory, even after the tensor
 * was disposed. Memory is copied where it is read-only, or strided and the library has no strides.
 */
export function lend(
  source: object,
  names: readonly string[],
  library: string,
  options?: LendOptions,
  hasStrides = false,
): Lent {
  checkLend(options);
  let tensor = fromDLPack(source);
  try {
    checkDType(tensor.dtype, names, library);
    const { isContiguous, readonly } = tensor;
    if (options?.copy === true || readonly || (!isContiguous && !hasStrides)) {
      if (options?.copy === false) {
        throw new BufferError(
          `Expected shared memory but it is ${readonly ? 'read-only' : 'not row-major'}; allow a copy`,
        );
      }
      tensor = copyOf(tensor);
    }
    const descriptor = descriptorOf(tensor);
    const view = new TensorView(descriptor);
    if (!tensor.isContiguous) return lendStorage(view, descriptor);
    const array = tensor.data as TypedArray;
    if (!lent.has(array)) keepFor(array, descriptor);
    return { array, tensor: view, offset: 0 };
  } finally {
    tensor.dispose();
  }
}

/** An array from the start of the storage, for a library with strides and offsets in elements. */
function lendStorage(tensor: TensorView, descriptor: Descriptor): Lent {
  const { storage, dtype, bitOffset } = descriptor;
  descriptor.checkHost();
  const size = dtype.array.BYTES_PER_ELEMENT;
  const array = new dtype.array(storage.buffer(), storage.start, Math.floor(storage.nbytes / size));
  keepFor(array, descriptor);
  return { array, tensor, offset: bitOffset / 8 / size };
}

/** Throws unless the library has the dtype. */
export function checkDType(dtype: string, names: readonly string[], library: string): void {
  if (names.includes(dtype)) return;
  throw new UnsupportedDTypeError(
    dtype,
    `Expected a dtype of ${library} (${names.join(' ')}) but received '${dtype}'; convert it with astype()`,
  );
}
