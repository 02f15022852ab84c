/**
 * The two steps that all adapters have in common: a tensor over a library's array, and an array for a library over a
 * tensor's memory.
 */

import { checkOptions, type OptionNames } from '../base/options.js';
import { arrayDTypes, checkDType, type DType, dtypeOfArray, type TypedArray } from '../dtype.js';
import { ArgumentTypeError, BufferError, ForeignError, textOf } from '../errors.js';
import { copyOf, fromDLPack } from '../from-dlpack.js';
import type { WrapOptions } from '../storage/arrays.js';
import type { Descriptor } from '../storage/descriptor.js';
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

const lendNames: OptionNames<LendOptions> = { copy: 'boolean or null', gpuDevice: true };
// Adapters with another option list all names, because V8 takes half a microsecond to spread an object.
const adaptNames: OptionNames<AdaptOptions> = {
  copy: 'boolean or null',
  gpuDevice: true,
  adopt: 'boolean',
  backend: true,
};

/**
 * Throws for an unknown option, and for a `value` without `property`, which the objects of the library have. `names`:
 * the options. `advice`: how to pass the library, where `value` is the library itself.
 */
export function checkAdapt(
  value: unknown,
  property: unknown,
  expected: string,
  options?: AdaptOptions,
  names: OptionNames<object> = adaptNames,
  advice?: string,
): void {
  if (options !== undefined) checkOptions<object>(options, names, '{ copy: true }');
  if (property == null) throw new ArgumentTypeError(advice ? 'library' : 'value', expected, value, advice);
}

/** A Float16Array exists. Otherwise its bits are in a Uint16Array, which some libraries would take for integers. */
export const hasFloat16 = () => 'Float16Array' in globalThis;

/** For libraries that take the dtype from the class of the array. */
export const arrayClasses = () => (hasFloat16() ? arrayDTypes : arrayDTypes.slice(0, -1));

/**
 * A tensor over an array of a library, or a copy where the options ask for one. `copied`: why the array is a copy of the
 * library's memory; absent when it is the memory itself.
 */
export function share(
  array: unknown,
  layout: WrapOptions<DType>,
  options: AdaptOptions | undefined,
  copied?: string | false,
): Tensor {
  checkCopied(options, copied);
  const tensor = Tensor.wrap(array as TypedArray, layout as { dtype: DType });
  if (options?.adopt && !options.copy) {
    const { shape, dtype } = tensor; // which needs no dispose(), because the memory is the array's
    if (tensor.isContiguous && !tensor.readonly && !layout.byteOffset) {
      return Tensor.adopt(array as TypedArray, { shape, dtype });
    }
    throw new BufferError('Expected a writable row-major array to adopt; use { copy: true }');
  }
  return options?.copy && !copied ? copyOf(tensor) : tensor;
}

/** Throws when the options refuse a copy, which the library makes for the reason `copied`. */
export function checkCopied(options: LendOptions | undefined, copied: string | false | undefined): void {
  if (copied && options?.copy === false) throw new BufferError(`Expected shared memory but ${copied}`);
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

/** Calls a library, whose own errors become a typed error. */
export function callLibrary<R>(library: string, call: () => R): R {
  try {
    return call();
  } catch (cause) {
    throw new ForeignError(library, `${library} failed: ${textOf(cause)}`, { cause });
  }
}

/**
 * What libraries use, by the array that the library has. Descriptors, not Tensors, because `scope` would dispose Tensors
 * that the library still needs.
 */
const lent = new WeakMap<object, Descriptor>();

/** Makes the library's object of an array. The tensor is valid during the call. `offset`: elements before the first. */
type Use<R> = (array: TypedArray, tensor: Tensor, offset: number) => R;

/** Keeps the memory for as long as `array` exists, after the library has made its object of the array. */
function keepFor<R>(made: R, array: object, descriptor: Descriptor): R {
  descriptor.storage.refs++; // never released: the garbage collector releases the storage
  lent.set(array, descriptor);
  return made;
}

/**
 * Calls `use` with the memory of a tensor, for a library that has the dtypes `names`. The array keeps the memory, even
 * after the tensor was disposed. Memory is copied where it is read-only, or strided and the library has no strides.
 * `module`: the library's module, class or function, which has the property `key`; without it, the error contains `advice`.
 * `onGpu` gets a tensor in a GPUBuffer instead. `strided`: {@link lendStorage}, for libraries with strides.
 */
export function lend<R>(
  source: object,
  names: readonly string[],
  library: string,
  module: unknown,
  key: string,
  advice: string,
  options: LendOptions | undefined,
  use: Use<R>,
  onGpu?: ((tensor: Tensor) => R) | null,
  strided?: (tensor: Tensor, use: Use<R>) => R,
): R {
  checkAdapt(module, (module as Record<string, unknown> | undefined)?.[key], library, options, lendNames, advice);
  let tensor = fromDLPack(source);
  try {
    checkDType(tensor.dtype, names, library);
    if (onGpu && descriptorOf(tensor).device.kind === 'webgpu') return onGpu(tensor);
    if (options?.copy || tensor.readonly || !(strided || tensor.isContiguous)) {
      checkCopied(options, `it is ${tensor.readonly ? 'read-only' : 'not row-major'}; allow a copy`);
      tensor = copyOf(tensor);
    }
    if (strided && !tensor.isContiguous) return strided(tensor, use);
    const array = tensor.data as TypedArray;
    return keepFor(use(array, tensor, 0), array, descriptorOf(tensor));
  } finally {
    tensor.dispose();
  }
}

/** Calls `use` with an array from the start of the storage, for a library with strides and offsets in elements. */
export function lendStorage<R>(tensor: Tensor, use: Use<R>): R {
  const descriptor = descriptorOf(tensor);
  const { storage, dtype, bitOffset } = descriptor;
  descriptor.checkHost();
  const size = dtype.array.BYTES_PER_ELEMENT;
  const array = new dtype.array(storage.buffer(), storage.start, Math.floor(storage.nbytes / size));
  return keepFor(use(array, tensor, bitOffset / 8 / size), array, descriptor);
}
