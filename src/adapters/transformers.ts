/** transformers.js, whose tensors contain tensors of ONNX Runtime. */

import type { Tensor } from '../tensor.js';
import { fromOnnxRuntime, isOnnxRuntime, lendOnnx, type OnnxModule, type OnnxTensor } from './onnxruntime.js';
import { type AdaptOptions, checkAdapt, type LendOptions } from './share.js';

/** The part of a transformers.js `Tensor` that the adapter uses. */
export interface TransformersTensor {
  readonly ort_tensor: OnnxTensor;
}

export function isTransformers(value: object): value is TransformersTensor {
  const inner: unknown = (value as TransformersTensor).ort_tensor;
  return typeof inner === 'object' && inner !== null && isOnnxRuntime(inner);
}

/** A tensor over the memory of a transformers.js tensor. */
export function fromTransformers(value: TransformersTensor, options?: AdaptOptions): Tensor {
  checkAdapt(value, value?.ort_tensor, 'a transformers.js Tensor', options);
  return fromOnnxRuntime(value.ort_tensor, options);
}

/** A transformers.js tensor over the memory of a tensor: `toTransformers(x, transformers)`. */
export function toTransformers<T>(source: object, transformers: OnnxModule<T>, options?: LendOptions): T {
  return lendOnnx<T, OnnxTensor>(
    source,
    'transformers.js',
    transformers,
    'use toTransformers(x, transformers)',
    options,
    (make) => {
      // The class takes no GPUBuffers, and tensors of its own copy of ONNX Runtime alone. Its property takes any.
      const made = new transformers.Tensor('bool' as never, [] as never, [0] as never) as T & Replaceable;
      made.ort_tensor = make(made.ort_tensor?.constructor as never);
      return made;
    },
  );
}

interface Replaceable {
  ort_tensor: OnnxTensor;
}
