/**
 * tvmjs (`@mlc-ai/web-runtime`), after its types: its tensors are in the memory of a WebAssembly module or of a GPU, and
 * its functions copy.
 */

import { arrayDTypes, checkDType, type DType } from '../dtype.js';
import type { Tensor } from '../tensor.js';
import { type AdaptOptions, checkAdapt, checkCopied, lend, share } from './share.js';

/** The part of a tvmjs `Tensor` that the adapter uses. */
export interface TvmjsTensor {
  readonly shape: readonly number[];
  readonly dtype: string;
  readonly isView: boolean;
  toRawBytes(): Uint8Array;
  copyFromRawBytes(bytes: Uint8Array): unknown;
}

/** The part of a tvmjs `Instance` that the adapter uses. */
export interface TvmjsInstance<T extends TvmjsTensor, D> {
  empty(shape: never, dtype: never, device: D): T;
  cpu(id?: number): D;
}

export function isTvmjs(value: object): value is TvmjsTensor {
  const { toRawBytes, copyFromRawBytes } = value as TvmjsTensor;
  return typeof toRawBytes === 'function' && typeof copyFromRawBytes === 'function';
}

/** A copy of the elements of a tvmjs tensor in WebAssembly memory. */
export function fromTvmjs(value: TvmjsTensor, options?: AdaptOptions): Tensor {
  checkAdapt(value, value?.toRawBytes, 'a tvmjs Tensor', options);
  checkDType(value.dtype, arrayDTypes, 'DLPack');
  checkCopied(options, 'tvmjs copies');
  return share(value.toRawBytes(), { shape: value.shape, dtype: value.dtype as DType }, undefined);
}

/** A tvmjs tensor with the elements of a tensor, always a copy: `toTvmjs(x, tvm)`. The caller disposes it. */
export function toTvmjs<T extends TvmjsTensor, D>(source: object, tvm: TvmjsInstance<T, D>, device?: D): T {
  return lend(
    source,
    arrayDTypes,
    'tvmjs',
    tvm,
    'empty',
    'use toTvmjs(x, tvm), with an Instance',
    undefined,
    ({ buffer, byteOffset, byteLength }, { shape, dtype }) => {
      const made = tvm.empty([...shape] as never, dtype as never, device ?? tvm.cpu());
      made.copyFromRawBytes(new Uint8Array(buffer, byteOffset, byteLength));
      return made;
    },
  );
}
