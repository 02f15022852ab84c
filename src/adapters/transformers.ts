/** transformers.js, whose tensors contain tensors of ONNX Runtime. */

import type { DLPackSource } from '../protocol/managed.js';
import type { Tensor } from '../tensor.js';
import { type Adapter, type NamedDType, takeObject } from './adapter.js';
import {
  fromOnnxRuntime,
  isOnnxRuntime,
  lendOnnx,
  makeOnGpu,
  type OnnxModule,
  type OnnxTensor,
  onnxRuntimeAdapter,
} from './onnxruntime.js';
import { type GPUAdaptOptions, type GPUToOptions, gpuOption } from './options.js';

/** The part of a transformers.js `Tensor` that the adapter uses. */
export interface TransformersTensor {
  /** The tensor of ONNX Runtime inside. */
  readonly ort_tensor: OnnxTensor;
}

export const transformersAdapter: Adapter = {
  name: 'transformers.js',
  object: 'a transformers.js Tensor',
  get dtypes() {
    return onnxRuntimeAdapter.dtypes;
  },
  is: isTransformers,
  from: fromTransformers,
  to: toTransformers,
};

export function isTransformers(value: object): value is TransformersTensor {
  const inner: unknown = (value as TransformersTensor).ort_tensor;
  return typeof inner === 'object' && inner !== null && isOnnxRuntime(inner);
}

/**
 * Makes a tensor over the memory of a transformers.js tensor.
 *
 * @param value - A tensor of transformers.js.
 * @param options - The GPUDevice of a tensor in a GPUBuffer (`gpuDevice`). Whether to copy (`copy`; when absent, only
 *   where the library cannot share) or to move the memory out of the object (`adopt`, false when absent).
 * @returns A tensor that shares the memory, or a copy.
 * @throws ArgumentTypeError for anything but a tensor of transformers.js.
 * @throws As `fromOnnxRuntime` does.
 * @example
 * ```ts
 * import { Tensor as HFTensor } from '@huggingface/transformers';
 * import { fromTransformers } from 'dlpack/adapters';
 * const x = fromTransformers(new HFTensor('float32', new Float32Array([1, 2]), [2]));
 * console.log(x.toArray()); // [1, 2]
 * ```
 */
export function fromTransformers<T extends TransformersTensor>(
  value: T,
  options?: GPUAdaptOptions,
): Tensor<NamedDType<T['ort_tensor']['type']>> {
  return takeObject({
    adapter: transformersAdapter,
    value,
    options,
    ownOptions: gpuOption,
    read: () => fromOnnxRuntime<T['ort_tensor']>(value.ort_tensor, options),
  });
}

/**
 * Makes a transformers.js tensor over the memory of a tensor.
 *
 * @param source - The tensor, or any object with tensors that `fromDLPack` takes.
 * @param transformers - The module `@huggingface/transformers`.
 * @param options - Whether to copy (when absent, only where the library cannot share), and the GPUDevice of the library
 *   (`gpuDevice`), to compare.
 * @returns A tensor of transformers.js that shares the memory, or has a copy of memory that is read-only or not
 *   row-major.
 * @throws ArgumentTypeError for anything but a tensor and the module.
 * @throws UnsupportedDTypeError for a dtype that transformers.js does not have.
 * @throws UnsupportedDeviceError for a tensor on another GPUDevice.
 * @throws BufferError if `copy: false` forbids a copy that is needed.
 * @throws ForeignError if transformers.js fails.
 * @example
 * ```ts
 * import * as transformers from '@huggingface/transformers';
 * import { Tensor } from 'dlpack';
 * import { toTransformers } from 'dlpack/adapters';
 * const x = toTransformers(Tensor.from([1, 2], { dtype: 'float32' }), transformers);
 * console.log(x.dims); // [2]
 * ```
 */
export function toTransformers<T>(source: DLPackSource, transformers: OnnxModule<T>, options?: GPUToOptions): T {
  return lendOnnx({
    adapter: transformersAdapter,
    source,
    module: transformers,
    usage: 'toTransformers(x, transformers)',
    options,
    makeOnGpu: (tensor) => {
      // The class takes no GPUBuffers, and tensors of its own copy of ONNX Runtime alone. Its property takes any.
      const made = new transformers.Tensor('bool' as never, [] as never, [0] as never) as T & Replaceable;
      const Gpu = made.ort_tensor?.constructor as { fromGpuBuffer?(): OnnxTensor } | undefined;
      made.ort_tensor = makeOnGpu(tensor, Gpu, transformersAdapter, options);
      return made;
    },
  });
}

interface Replaceable {
  ort_tensor: OnnxTensor;
}
