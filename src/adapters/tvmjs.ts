/**
 * tvmjs (`@mlc-ai/web-runtime`), after its types: its tensors are in the memory of a WebAssembly module or of a GPU, and
 * its functions copy.
 */

import { arrayDTypes, checkDType, type DType } from '../dtype.js';
import type { DLPackSource } from '../protocol/managed.js';
import type { Tensor } from '../tensor.js';
import { type Adapter, type NamedDType, takeObject } from './adapter.js';
import { lend } from './lend.js';
import type { AdaptOptions, ToOptions } from './options.js';
import { share } from './share.js';

/** The part of a tvmjs `Tensor` that the adapter uses. */
export interface TvmjsTensor {
  /** The lengths of the axes. */
  readonly shape: readonly number[];
  /** The element type, by its name in TVM. */
  readonly dtype: string;
  /** True: the memory belongs to somebody else. */
  readonly isView: boolean;
  /**
   * Copies the elements out.
   *
   * @returns A new array of all elements, row by row.
   */
  toRawBytes(): Uint8Array;
  /**
   * Copies elements in.
   *
   * @param bytes - All elements, row by row.
   * @returns Whatever the library returns; this package ignores it.
   */
  copyFromRawBytes(bytes: Uint8Array): unknown;
}

/** The part of a tvmjs `Instance` that the adapter uses. */
export interface TvmjsInstance<T extends TvmjsTensor, D> {
  /**
   * Makes a tensor without setting its elements.
   *
   * @param shape - The lengths of the axes.
   * @param dtype - The element type, by its name in TVM.
   * @param device - Where the memory is.
   */
  empty(shape: never, dtype: never, device: D): T;
  /**
   * Returns the device of host memory.
   *
   * @param id - The number of the device, 0 when absent.
   */
  cpu(id?: number): D;
}

/** The options of {@link toTvmjs}. */
export interface TvmjsOptions<D> extends ToOptions {
  /** The device of tvmjs, `tvm.webgpu()` for example. The default is `tvm.cpu()`. */
  device?: D;
}

const copied = 'tvmjs copies';

export const tvmjsAdapter: Adapter = {
  name: 'tvmjs',
  object: 'a tvmjs Tensor',
  dtypes: arrayDTypes,
  is: isTvmjs,
  from: fromTvmjs,
  to: toTvmjs,
};

export function isTvmjs(value: object): value is TvmjsTensor {
  const { toRawBytes, copyFromRawBytes } = value as TvmjsTensor;
  return typeof toRawBytes === 'function' && typeof copyFromRawBytes === 'function';
}

/**
 * Copies the elements of a tvmjs tensor in WebAssembly memory.
 *
 * @param value - A tensor of tvmjs.
 * @param options - Whether to copy (`copy`; when absent, only where the library cannot share) or to move the memory out
 *   of the object (`adopt`, false when absent).
 * @returns A tensor with its own memory.
 * @throws ArgumentTypeError for anything but a tensor of tvmjs.
 * @throws UnsupportedDTypeError for elements that no dtype describes.
 * @throws BufferError for `copy: false`.
 * @throws ForeignError if tvmjs fails.
 * @example
 * ```ts fragment: needs a module of TVM
 * import { fromTvmjs } from 'dlpack/adapters';
 * const y = fromTvmjs(result);
 * ```
 */
export function fromTvmjs<T extends TvmjsTensor>(value: T, options?: AdaptOptions): Tensor<NamedDType<T['dtype']>> {
  return takeObject<AdaptOptions, Tensor>({
    adapter: tvmjsAdapter,
    value,
    options,
    read: () => {
      const { dtype, shape } = value;
      checkDType(dtype, tvmjsAdapter.dtypes, 'DLPack');
      const array = value.toRawBytes();
      return share({
        adapter: tvmjsAdapter,
        array,
        layout: { shape, dtype: dtype as DType },
        options,
        copied,
      });
    },
  }) as Tensor<NamedDType<T['dtype']>>;
}

/**
 * Copies a tensor into a tvmjs tensor. The caller disposes it.
 *
 * @param source - The tensor, or any object with tensors that `fromDLPack` takes.
 * @param tvm - The instance.
 * @param options - The device of tvmjs (`device`; `tvm.cpu()` when absent). `copy: false` throws, because the elements
 *   are always copied.
 * @returns A tensor of tvmjs.
 * @throws ArgumentTypeError for anything but a tensor and an instance.
 * @throws UnsupportedDTypeError for a dtype that tvmjs does not have.
 * @throws BufferError for `copy: false`.
 * @throws ForeignError if tvmjs fails.
 * @example
 * ```ts fragment: needs a module of TVM
 * import { toTvmjs } from 'dlpack/adapters';
 * const input = toTvmjs(x, tvm, { device: tvm.webgpu() });
 * ```
 */
export function toTvmjs<T extends TvmjsTensor, D>(
  source: DLPackSource,
  tvm: TvmjsInstance<T, D>,
  options?: TvmjsOptions<D>,
): T {
  return lend({
    adapter: tvmjsAdapter,
    source,
    library: { value: tvm, property: 'empty', usage: 'toTvmjs(x, tvm), with an Instance' },
    options,
    ownOptions: { device: true },
    copied,
    make: ({ array: { buffer, byteOffset, byteLength }, tensor: { shape, dtype } }) => {
      const made = tvm.empty([...shape] as never, dtype as never, options?.device ?? tvm.cpu());
      made.copyFromRawBytes(new Uint8Array(buffer, byteOffset, byteLength));
      return made;
    },
  });
}
