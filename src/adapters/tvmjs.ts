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
  /** Copies the elements out. */
  toRawBytes(): Uint8Array;
  /** Copies elements in. */
  copyFromRawBytes(bytes: Uint8Array): unknown;
}

/** The part of a tvmjs `Instance` that the adapter uses. */
export interface TvmjsInstance<T extends TvmjsTensor, D> {
  /** Makes a tensor without setting its elements. */
  empty(shape: never, dtype: never, device: D): T;
  /** Returns the device of host memory. */
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

/** A copy of the elements of a tvmjs tensor in WebAssembly memory. */
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

/** A tvmjs tensor with the elements of a tensor, always a copy: `toTvmjs(x, tvm)`. The caller disposes it. */
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
