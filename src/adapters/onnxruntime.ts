/** ONNX Runtime: onnxruntime-node and onnxruntime-web. */

import { arrayDTypes, checkDType, type DType } from '../dtype.js';
import { BufferError } from '../errors.js';
import type { GPUBufferLike } from '../storage/storage.js';
import type { Tensor } from '../tensor.js';
import { gpuBuffers } from './gpu-buffers.js';
import { type AdaptOptions, checkAdapt, type LendOptions, lend, share } from './share.js';

/** The part of `ort.Tensor` that the adapter uses. */
export interface OnnxTensor {
  readonly type: string;
  readonly dims: readonly number[];
  readonly location: string;
  readonly data: unknown;
}

/** `ort`, or another object with its `Tensor` class. */
export interface OnnxModule<T> {
  readonly env?: unknown;
  readonly Tensor: { new (type: never, data: never, dims: never): T };
}

// The mark of a pure call lets a bundler omit the list from a program that does not use this adapter.
const names: readonly string[] = /* @__PURE__ */ arrayDTypes.concat('bool', 'int4', 'uint4');

/** The dtypes that ONNX Runtime takes in a GPUBuffer. */
const gpuNames = () => names.filter((name) => !/^(int8|u?int16|uint64|float64)$/.test(name));

export function isOnnxRuntime(value: object): value is OnnxTensor {
  const { location, type, dims } = value as OnnxTensor;
  return typeof location === 'string' && typeof type === 'string' && Array.isArray(dims);
}

/**
 * A tensor over the memory of an `ort.Tensor`. A tensor in GPU memory takes the `ort.Tensor` over and disposes it,
 * because ONNX Runtime reuses the buffers of disposed tensors. A copy leaves the `ort.Tensor` to the caller.
 */
export function fromOnnxRuntime(value: OnnxTensor, options?: AdaptOptions): Tensor {
  checkAdapt(value, value?.dims, 'an ort.Tensor', options);
  const { type, dims, location } = value;
  checkDType(type, names, 'DLPack');
  if (location === 'gpu-buffer') {
    const { gpuBuffer, dispose } = value as OnnxTensor & { gpuBuffer: GPUBufferLike; dispose(): void };
    return gpuBuffers().take(gpuBuffer, type as DType, dims, () => dispose.call(value), options);
  }
  if (location !== 'cpu' && location !== 'cpu-pinned') {
    throw new BufferError(
      `Expected 'cpu' or 'gpu-buffer' but received '${location}': it was disposed, or use fromMLTensor()`,
    );
  }
  return share(value.data, { shape: dims, dtype: type as DType }, options);
}

/** `ort.env`, in which onnxruntime-node names its version. The one of transformers.js contains it. */
interface Environment {
  readonly versions?: { readonly node?: string };
  readonly backends?: { readonly onnx?: Environment };
}

/** An `ort.Tensor` over the memory of a tensor: `toOnnxRuntime(x, ort)`. */
export function toOnnxRuntime<T>(source: object, ort: OnnxModule<T>, options?: LendOptions): T {
  return lendOnnx<T, T>(source, 'ONNX Runtime', ort, 'use toOnnxRuntime(x, ort)', options, (make) =>
    make(ort.Tensor as never),
  );
}

/** A class of ONNX Runtime that takes GPUBuffers. */
export interface GpuClass<T> {
  fromGpuBuffer?(buffer: object, options: object): T;
}

/** As `toOnnxRuntime`. `place` calls its argument with the class for a tensor in a GPUBuffer. */
export function lendOnnx<T, G>(
  source: object,
  library: string,
  module: OnnxModule<T>,
  advice: string,
  options: LendOptions | undefined,
  place: (make: (Gpu: GpuClass<G> | undefined) => G) => T,
): T {
  return lend(
    source,
    names,
    library,
    module,
    'Tensor',
    advice,
    options,
    (array, { dtype, shape }) => {
      const made = new module.Tensor(dtype as never, array as never, shape as never);
      const env = module.env as Environment | undefined;
      if (dtype === 'float16' && (env?.backends?.onnx ?? env)?.versions?.node) {
        // onnxruntime-node finds no elements in a Float16Array, but takes their bits.
        const value = new Uint16Array(array.buffer, array.byteOffset, array.length);
        Object.defineProperty((made as { ort_tensor?: object }).ort_tensor ?? made, 'data', { value });
      }
      return made;
    },
    (tensor) =>
      place((Gpu) => {
        if (!Gpu?.fromGpuBuffer) {
          throw new BufferError('Expected onnxruntime-web; use toOnnxRuntime()');
        }
        const { dtype, shape, nbytes } = tensor;
        // ONNX Runtime reads vectors of 16 bytes, and the results are wrong where the buffer is shorter.
        const size = Math.ceil(nbytes / 16) * 16 || 16;
        return gpuBuffers().lend(tensor, { library, dtypes: gpuNames(), size }, options, ({ gpuBuffer, release }) =>
          (Gpu as Required<GpuClass<G>>).fromGpuBuffer(gpuBuffer, { dataType: dtype, dims: shape, dispose: release }),
        );
      }),
  );
}
