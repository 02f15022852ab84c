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

/**
 * Makes a tensor of a LiteRT.js tensor. One on WebGPU is shared and taken over: the last owner deletes it. Others are
 * copied.
 *
 * @param value - A live tensor of LiteRT.js.
 * @param options - The GPUDevice of a tensor on WebGPU (`gpuDevice`). Whether to copy (`copy`; when absent, only where
 *   the library cannot share) or to move the memory out of the object (`adopt`, false when absent).
 * @returns A tensor that shares the GPUBuffer, or has a copy of a tensor in host memory.
 * @throws ArgumentTypeError for anything but a live tensor, and without `gpuDevice` where it is needed.
 * @throws UnsupportedDTypeError for elements that no dtype describes.
 * @throws BufferError if `copy: false` forbids a copy that is needed, or `adopt` a move that is impossible.
 * @throws ForeignError if LiteRT.js fails.
 * @example
 * ```ts fragment: needs a page
 * import { fromLiteRT } from 'dlpack/adapters';
 * const [output] = await model.run(toLiteRT(x, litert));
 * const y = fromLiteRT(output);
 * ```
 */
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

/**
 * Makes a LiteRT.js tensor with the elements of a tensor. A tensor on WebGPU is shared, other tensors are copied.
 *
 * @param source - The tensor, or any object with tensors that `fromDLPack` takes.
 * @param litert - The module `@litertjs/core`.
 * @param options - Whether to copy (when absent, all but tensors on WebGPU), and the GPUDevice of LiteRT.js
 *   (`gpuDevice`), to compare.
 * @returns A tensor of LiteRT.js, which the caller deletes.
 * @throws ArgumentTypeError for anything but a tensor and the module.
 * @throws UnsupportedDTypeError for a dtype that LiteRT.js does not have.
 * @throws UnsupportedDeviceError for a tensor on a device that LiteRT.js does not use.
 * @throws BufferError if `copy: false` forbids a copy that is needed.
 * @throws ForeignError if LiteRT.js fails.
 * @example
 * ```ts fragment: needs a page
 * import { toLiteRT } from 'dlpack/adapters';
 * const input = toLiteRT(x, litert);
 * ```
 */
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
