/** LiteRT.js (`@litertjs/core`). */

import { checkDType, type DType } from '../dtype.js';
import { ArgumentTypeError } from '../errors.js';
import { checkShape } from '../layout.js';
import type { DLPackSource } from '../protocol/managed.js';
import type { GPUBufferLike } from '../storage/storage.js';
import type { Tensor } from '../tensor.js';
import { type Adapter, type NamedDType, takeObject } from './adapter.js';
import { readRelease } from './fields.js';
import { gpuBuffers } from './gpu-buffers.js';
import { lend } from './lend.js';
import { checkCopied, type GPUAdaptOptions, type GPUToOptions, gpuOption } from './options.js';
import { share } from './share.js';

/** The part of a LiteRT.js `Tensor` that the adapter uses. */
export interface LiteRTTensor {
  /** The element type and the shape. */
  readonly type: {
    /** The element type, by its name in LiteRT. */
    readonly dtype: string;
    /** The shape. */
    readonly layout: {
      /** The lengths of the axes. */
      readonly dimensions: ArrayLike<number>;
    };
  };
  /** Where the memory is: `'wasm'` or `'webgpu'`. */
  readonly accelerator: string;
  /** True after `delete()`. */
  readonly deleted?: boolean;
  /** Returns the elements of a tensor in WebAssembly memory. */
  toTypedArray(): unknown;
  /** Returns the buffer of a tensor on WebGPU. */
  toGpuBuffer(): unknown;
  /** Frees the tensor. */
  delete(): void;
}

/** The module `@litertjs/core`, or another object with its `Tensor` class. */
export interface LiteRTModule<T> {
  /** The class of tensors. */
  readonly Tensor: {
    /** Makes a tensor from a typed array or a GPUBuffer. */
    new (data: never, shape: never, ...more: never[]): T;
  };
  /** Returns the GPUDevice of the library; null before it has one. */
  getWebGpuDevice?(): object | null;
}

export const liteRTAdapter: Adapter = {
  name: 'LiteRT.js',
  object: 'a live LiteRT.js Tensor',
  dtypes: ['float32', 'int32', 'uint8'],
  is: isLiteRT,
  from: fromLiteRT,
  to: toLiteRT,
};

const copied = 'LiteRT.js copies between its own memory and arrays';

export function isLiteRT(value: object): value is LiteRTTensor {
  const { toTypedArray, toGpuBuffer } = value as LiteRTTensor;
  return typeof toTypedArray === 'function' && typeof toGpuBuffer === 'function';
}

/** A copy of a tensor in host memory. A tensor on WebGPU is shared and taken over: the last owner deletes it. */
export function fromLiteRT<T extends LiteRTTensor>(
  value: T,
  options?: GPUAdaptOptions,
): Tensor<NamedDType<T['type']['dtype']>> {
  return takeObject<GPUAdaptOptions, Tensor>({
    adapter: liteRTAdapter,
    value,
    options,
    ownOptions: gpuOption,
    read: () => {
      if (value.deleted) throw new ArgumentTypeError('value', liteRTAdapter.object, value);
      const { dtype: name, layout } = value.type;
      checkDType(name, liteRTAdapter.dtypes, 'DLPack');
      const [dtype, shape] = [name as DType, checkShape(layout.dimensions)];
      if (value.accelerator === 'webgpu') {
        const gpuBuffer = value.toGpuBuffer() as GPUBufferLike;
        return gpuBuffers().take({
          gpuBuffer,
          dtype,
          shape,
          release: readRelease(liteRTAdapter, value, 'delete'),
          options,
        });
      }
      return share({ adapter: liteRTAdapter, array: value.toTypedArray(), layout: { shape, dtype }, options, copied });
    },
  }) as Tensor<NamedDType<T['type']['dtype']>>;
}

/** A LiteRT.js tensor with the elements of a tensor. A tensor on WebGPU is shared, other tensors are copied. */
export function toLiteRT<T>(source: DLPackSource, litert: LiteRTModule<T>, options?: GPUToOptions): T {
  const construct = (data: object, shape: readonly number[], ...more: unknown[]) =>
    new litert.Tensor(data as never, [...shape] as never, ...(more as never[]));
  return lend({
    adapter: liteRTAdapter,
    source,
    library: { value: litert, property: 'Tensor', usage: 'toLiteRT(x, litert), with @litertjs/core' },
    options,
    ownOptions: gpuOption,
    make: ({ array, tensor }) => {
      checkCopied(options, copied);
      return construct(array, tensor.shape);
    },
    makeOnGpu: (tensor) => {
      const { dtype, shape, nbytes: size } = tensor;
      const need = { library: liteRTAdapter.name, size, gpuDevice: litert.getWebGpuDevice?.() };
      // LiteRT.js calls the last argument when its tensor is deleted, and never releases the buffer itself.
      return gpuBuffers().lend(tensor, need, options, (lent) =>
        construct(lent.gpuBuffer, shape, dtype, undefined, lent.release),
      );
    },
  });
}
