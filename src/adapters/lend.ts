/** The memory of a tensor as an array of a library. */

import { checkDType, type TypedArray } from '../dtype.js';
import { ArgumentTypeError } from '../errors.js';
import { copyOf, fromDLPack } from '../from-dlpack.js';
import type { DLPackSource } from '../protocol/managed.js';
import type { Descriptor } from '../storage/descriptor.js';
import type { Tensor } from '../tensor.js';
import { descriptorOf } from '../view.js';
import { type Adapter, callLibrary } from './adapter.js';
import { checkCopied, checkToOptions, type ToOptions } from './options.js';

/** The module, class or function of a library that the user has passed. */
interface Library {
  readonly value: unknown;
  /** A property that it has. */
  readonly property: string;
  /** How to call the adapter, for messages. */
  readonly usage: string;
}

/** What a library gets. The tensor is valid during the call. */
interface Lent {
  readonly array: TypedArray;
  readonly tensor: Tensor;
  /** Elements of the array before the first element of the tensor. */
  readonly offset: number;
}

/** How an adapter lends a tensor. */
interface Lending<R> {
  readonly adapter: Adapter;
  readonly source: DLPackSource;
  /** Absent for a library whose objects are plain objects. */
  readonly library?: Library;
  readonly options: ToOptions | undefined;
  /** The names of options that only this `toX` has. */
  readonly ownOptions?: object;
  /** Why the library's object always has a copy; absent where it can have the memory. */
  readonly copied?: string;
  /** The dtypes that the library takes, where they are not all that it has. */
  readonly dtypes?: readonly string[];
  /** The library takes strides, and an offset into an array. */
  readonly hasStrides?: boolean;
  /** Makes the library's object of an array. */
  readonly make: (lent: Lent) => R;
  /** Makes it of a tensor in a GPUBuffer. Without this, such a tensor is refused. */
  readonly makeOnGpu?: (tensor: Tensor) => R;
}

/**
 * Makes a library's object over the memory of a tensor. The array keeps the memory, even after the tensor was disposed.
 * Memory is copied where it is read-only, or strided and the library has no strides.
 */
export function lend<R>(lending: Lending<R>): R {
  const { adapter, source, options, hasStrides = false, make, makeOnGpu } = lending;
  checkToOptions(options, lending.ownOptions);
  checkCopied(options, lending.copied);
  if (lending.library !== undefined) checkLibrary(adapter, lending.library);
  let tensor = fromDLPack(source);
  try {
    checkDType(tensor.dtype, lending.dtypes ?? adapter.dtypes, adapter.name);
    if (makeOnGpu && descriptorOf(tensor).device.kind === 'webgpu') {
      return callLibrary(adapter.name, () => makeOnGpu(tensor));
    }
    if (options?.copy || tensor.isReadOnly || !(hasStrides || tensor.isContiguous)) {
      checkCopied(options, `it is ${tensor.isReadOnly ? 'read-only' : 'not row-major'}; allow a copy`);
      tensor = copyOf(tensor);
    }
    const lent = tensor.isContiguous ? wholeOf(tensor) : storageOf(tensor);
    const made = callLibrary(adapter.name, () => make(lent));
    // An object with a copy needs the memory no longer, unless the library is still to read it.
    if (lending.copied === undefined || made instanceof Promise) keepFor(lent.array, descriptorOf(tensor));
    return made;
  } finally {
    tensor.dispose();
  }
}

function checkLibrary({ name }: Adapter, { value, property, usage }: Library): void {
  if ((value as Record<string, unknown> | null | undefined)?.[property] != null) return;
  throw new ArgumentTypeError('library', name, value, `use ${usage}`);
}

const wholeOf = (tensor: Tensor): Lent => ({ array: tensor.data as TypedArray, tensor, offset: 0 });

/** An array from the start of the storage, for a library with strides and offsets in elements. */
function storageOf(tensor: Tensor): Lent {
  const descriptor = descriptorOf(tensor);
  const { storage, dtype, bitOffset } = descriptor;
  descriptor.checkHost();
  const size = dtype.array.BYTES_PER_ELEMENT;
  const array = new dtype.array(storage.buffer(), storage.start, Math.floor(storage.nbytes / size));
  return { array, tensor, offset: bitOffset / 8 / size };
}

/**
 * What libraries use, by the array that the library has. Descriptors, not Tensors, because `scope` would dispose Tensors
 * that the library still needs.
 */
const lent = new WeakMap<object, Descriptor>();

/** Keeps the memory for as long as `array` exists, after the library has made its object of the array. */
function keepFor(array: object, descriptor: Descriptor): void {
  descriptor.storage.refs++; // never released: the garbage collector releases the storage
  lent.set(array, descriptor);
}
