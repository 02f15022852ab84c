/** LiteRT.js (`@litertjs/core`). */

import { checkDType, type DType } from '../dtype.js';
import type { GPUBufferLike } from '../storage/storage.js';
import type { Tensor } from '../tensor.js';
import { gpuBuffers } from './gpu-buffers.js';
import { type AdaptOptions, checkAdapt, checkCopied, type LendOptions, lend, share } from './share.js';

/** The part of a LiteRT.js `Tensor` that the adapter uses. */
export interface LiteRTTensor {
  readonly type: { readonly dtype: string; readonly layout: { readonly dimensions: ArrayLike<number> } };
  readonly accelerator: string;
  readonly deleted?: boolean;
  toTypedArray(): unknown;
  toGpuBuffer(): unknown;
  delete(): void;
}

/** The module `@litertjs/core`, or another object with its `Tensor` class. */
export interface LiteRTModule<T> {
  readonly Tensor: { new (data: never, shape: never, ...more: never[]): T };
  getWebGpuDevice?(): object | null;
}

const library = 'LiteRT.js';
const names = ['float32', 'int32', 'uint8'];
const copied = 'LiteRT.js copies between its own memory and arrays';

export function isLiteRT(value: object): value is LiteRTTensor {
  const { toTypedArray, toGpuBuffer } = value as LiteRTTensor;
  return typeof toTypedArray === 'function' && typeof toGpuBuffer === 'function';
}

/** A copy of a tensor in host memory. A tensor on WebGPU is shared and taken over: the last owner deletes it. */
export function fromLiteRT(value: LiteRTTensor, options?: AdaptOptions): Tensor {
  checkAdapt(value, value?.deleted ? null : value?.toTypedArray, 'a live LiteRT.js Tensor', options);
  const { dtype, layout } = value.type;
  const shape = Array.from(layout.dimensions);
  checkDType(dtype, names, 'DLPack');
  if (value.accelerator === 'webgpu') {
    const buffer = value.toGpuBuffer() as GPUBufferLike;
    return gpuBuffers().take(buffer, dtype as DType, shape, () => value.delete(), options);
  }
  return share(value.toTypedArray(), { shape, dtype: dtype as DType }, options, copied);
}

/** A LiteRT.js tensor with the elements of a tensor. A tensor on WebGPU is shared, other tensors are copied. */
export function toLiteRT<T>(source: object, litert: LiteRTModule<T>, options?: LendOptions): T {
  const make = (data: object, shape: readonly number[], ...more: unknown[]) =>
    new litert.Tensor(data as never, [...shape] as never, ...(more as never[]));
  return lend(
    source,
    names,
    library,
    litert,
    'Tensor',
    'use toLiteRT(x, litert), with @litertjs/core',
    options,
    (array, { shape }) => {
      checkCopied(options, copied);
      return make(array, shape);
    },
    (tensor) => {
      const { dtype, shape, nbytes: size } = tensor;
      const need = { library, size, gpuDevice: litert.getWebGpuDevice?.() };
      // LiteRT.js calls the last argument when its tensor is deleted, and never releases the buffer itself.
      return gpuBuffers().lend(tensor, need, options, (lent) =>
        make(lent.gpuBuffer, shape, dtype, undefined, lent.release),
      );
    },
  );
}
