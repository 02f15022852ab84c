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

/** A tensor over the memory of a transformers.js tensor. */
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

/** A transformers.js tensor over the memory of a tensor: `toTransformers(x, transformers)`. */
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
