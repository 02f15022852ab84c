/**
 * ONNX Runtime: onnxruntime-node and onnxruntime-web.
 *
 * @module
 */

import type { DType } from '../dtype.js';
import { BufferError } from '../errors.js';
import { gpuBuffers } from '../gpu-buffers.js';
import type { GPUBufferLike } from '../storage/storage.js';
import type { Tensor } from '../tensor.js';
import { onGpu, takeGpuBuffer } from './gpu.js';
import {
  type AdaptOptions,
  arrayTypes,
  checkAdapt,
  checkDType,
  checkLend,
  type LendOptions,
  lend,
  share,
} from './share.js';

/** The part of `ort.Tensor` that the adapter uses. */
export interface OnnxTensor {
  readonly type: string;
  readonly dims: readonly number[];
  readonly location: string;
  readonly data: unknown;
}

/** `ort`, or another object with its `Tensor` class. */
export interface OnnxModule<T> {
  readonly Tensor: { new (type: never, data: never, dims: never): T };
}

const names = [...arrayTypes, 'bool', 'int4', 'uint4'];

export function isOnnxRuntime(value: object): value is OnnxTensor {
  const { location, type, dims } = value as OnnxTensor;
  return typeof location === 'string' && typeof type === 'string' && Array.isArray(dims);
}

/**
 * A tensor over the memory of an `ort.Tensor`. A tensor in GPU memory takes the `ort.Tensor` over and disposes it,
 * because ONNX Runtime reuses the buffers of disposed tensors. A copy leaves the `ort.Tensor` to the caller.
 */
export function fromOnnxRuntime(value: OnnxTensor, options?: AdaptOptions): Tensor {
  checkAdapt(options);
  const { type, dims, location } = value;
  checkDType(type, names, 'DLPack');
  if (location === 'gpu-buffer') {
    const { gpuBuffer, dispose } = value as OnnxTensor & { gpuBuffer: GPUBufferLike; dispose(): void };
    return takeGpuBuffer(gpuBuffer, options, type as DType, dims, () => dispose.call(value));
  }
  if (location !== 'cpu' && location !== 'cpu-pinned') {
    throw new BufferError(
      `Expected a tensor on 'cpu' or 'gpu-buffer' but received one on '${location}'; for an mlTensor use fromMLTensor()`,
    );
  }
  return share(value.data, dims, options, { dtype: type as DType });
}

/** An `ort.Tensor` over the memory of a tensor: `toOnnxRuntime(x, ort)`. */
export function toOnnxRuntime<T>(source: object, ort: OnnxModule<T>, options?: LendOptions): T {
  checkLend(options);
  const lent = onGpu(source, (tensor) => lendGpu(tensor, ort, options));
  if (lent !== null) return lent;
  const { array, tensor } = lend(source, names, 'ONNX Runtime', options);
  return new ort.Tensor(tensor.dtype as never, array as never, tensor.shape as never);
}

function lendGpu<T>(tensor: Tensor, { Tensor: Made }: OnnxModule<T>, options?: LendOptions): T {
  const { dtype, shape, nbytes } = tensor;
  checkDType(dtype, names, 'ONNX Runtime');
  const { fromGpuBuffer: make } = (Made ?? {}) as { fromGpuBuffer?(buffer: object, options: object): T };
  if (make === undefined) {
    throw new BufferError(
      'Expected a Tensor class that takes GPUBuffers; pass ort of onnxruntime-web to toOnnxRuntime()',
    );
  }
  // ONNX Runtime reads vectors of 16 bytes, and the results are wrong where the buffer is shorter.
  const size = Math.max(16, Math.ceil(nbytes / 16) * 16);
  const { gpuBuffer, release } = gpuBuffers().lend(tensor, { library: 'ONNX Runtime', size, isExact: false }, options);
  try {
    return make.call(Made, gpuBuffer, { dataType: dtype, dims: shape, dispose: release });
  } catch (error) {
    release();
    throw error;
  }
}
