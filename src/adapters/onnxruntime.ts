/** ONNX Runtime: onnxruntime-node and onnxruntime-web. */

import { arrayDTypes, checkDType, type DType } from '../dtype.js';
import { BufferError } from '../errors.js';
import type { DLPackSource } from '../protocol/managed.js';
import type { GPUBufferLike } from '../storage/storage.js';
import type { Tensor } from '../tensor.js';
import { type Adapter, type NamedDType, takeObject } from './adapter.js';
import { readRelease } from './fields.js';
import { gpuBuffers } from './gpu-buffers.js';
import { lend } from './lend.js';
import { type GPUAdaptOptions, type GPUToOptions, gpuOption } from './options.js';
import { share } from './share.js';

/** The part of `ort.Tensor` that the adapter uses. */
export interface OnnxTensor {
  /** The element type, by its name in ONNX Runtime. */
  readonly type: string;
  /** The lengths of the axes. */
  readonly dims: readonly number[];
  /** Where the memory is: `'cpu'`, `'gpu-buffer'` and so on. */
  readonly location: string;
  /** The elements of a tensor in host memory: a typed array. */
  readonly data: unknown;
}

/** `ort`, or another object with its `Tensor` class. */
export interface OnnxModule<T> {
  /** The settings of the library, among them its GPUDevice. */
  readonly env?: unknown;
  /** The class of tensors. */
  readonly Tensor: {
    /** Makes a tensor over a typed array. */
    new (type: never, data: never, dims: never): T;
  };
}

// The mark of a pure call lets a bundler omit the list from a program that does not use this adapter.
const dtypes: readonly string[] = /* @__PURE__ */ arrayDTypes.concat('bool', 'int4', 'uint4');

export const onnxRuntimeAdapter: Adapter = {
  name: 'ONNX Runtime',
  object: 'an ort.Tensor',
  dtypes,
  is: isOnnxRuntime,
  from: fromOnnxRuntime,
  to: toOnnxRuntime,
};

/** The dtypes that ONNX Runtime takes in a GPUBuffer. */
const gpuNames = ['float32', 'float16', 'int32', 'uint32', 'int64', 'uint8', 'bool', 'int4', 'uint4'];

export function isOnnxRuntime(value: object): value is OnnxTensor {
  const { location, type, dims } = value as OnnxTensor;
  return typeof location === 'string' && typeof type === 'string' && Array.isArray(dims);
}

/**
 * Makes a tensor over the memory of an `ort.Tensor`. A tensor in GPU memory takes the `ort.Tensor` over and disposes
 * it, because ONNX Runtime reuses the buffers of disposed tensors. A copy leaves the `ort.Tensor` to the caller.
 *
 * @param value - A tensor of onnxruntime-node or onnxruntime-web.
 * @param options - The GPUDevice of a tensor in a GPUBuffer (`gpuDevice`). Whether to copy (`copy`; when absent, only
 *   where the library cannot share) or to move the memory out of the object (`adopt`, false when absent).
 * @returns A tensor that shares the memory, or a copy.
 * @throws ArgumentTypeError for anything but an `ort.Tensor`, and without `gpuDevice` where it is needed.
 * @throws UnsupportedDTypeError for elements that no dtype describes.
 * @throws BufferError for a disposed tensor, for one of WebNN, and if `adopt` asks for a move that is impossible.
 * @throws ForeignError if ONNX Runtime fails.
 * @example
 * ```ts
 * import { fromOnnxRuntime } from 'dlpack/adapters';
 * import * as ort from 'onnxruntime-node';
 * const x = fromOnnxRuntime(new ort.Tensor('float32', new Float32Array([1, 2]), [1, 2]));
 * console.log(x.toArray()); // [[1, 2]]
 * ```
 */
export function fromOnnxRuntime<T extends OnnxTensor>(
  value: T,
  options?: GPUAdaptOptions,
): Tensor<NamedDType<T['type']>> {
  return takeObject<GPUAdaptOptions, Tensor>({
    adapter: onnxRuntimeAdapter,
    value,
    options,
    ownOptions: gpuOption,
    read: () => readFrom(value, options),
  }) as Tensor<NamedDType<T['type']>>;
}

function readFrom(value: OnnxTensor, options: GPUAdaptOptions | undefined): Tensor {
  const { type, dims: shape, location } = value;
  checkDType(type, dtypes, 'DLPack');
  const dtype = type as DType;
  if (location === 'gpu-buffer') {
    const { gpuBuffer } = value as OnnxTensor & { gpuBuffer: GPUBufferLike };
    return gpuBuffers().take({
      gpuBuffer,
      dtype,
      shape,
      release: readRelease(onnxRuntimeAdapter, value, 'dispose'),
      options,
    });
  }
  if (location !== 'cpu' && location !== 'cpu-pinned') {
    throw new BufferError(
      `Expected 'cpu' or 'gpu-buffer' but received '${location}': it was disposed, or use fromMLTensor()`,
    );
  }
  return share({ adapter: onnxRuntimeAdapter, array: value.data, layout: { shape, dtype }, options });
}

/** `ort.env`, in which onnxruntime-node names its version. The one of transformers.js contains it. */
interface Environment {
  readonly versions?: { readonly node?: string };
  readonly backends?: { readonly onnx?: Environment };
}

/** A class of ONNX Runtime that takes GPUBuffers. */
interface GpuClass<T> {
  fromGpuBuffer?(buffer: object, options: object): T;
}

/**
 * Makes an `ort.Tensor` over the memory of a tensor.
 *
 * @param source - The tensor, or any object with tensors that `fromDLPack` takes.
 * @param ort - The module `onnxruntime-node` or `onnxruntime-web`.
 * @param options - Whether to copy (when absent, only where the library cannot share), and the GPUDevice of ONNX
 *   Runtime (`gpuDevice`), to compare.
 * @returns A tensor of ONNX Runtime that shares the memory, or has a copy of memory that is read-only or not row-major.
 * @throws ArgumentTypeError for anything but a tensor and the module.
 * @throws UnsupportedDTypeError for a dtype that ONNX Runtime does not have.
 * @throws UnsupportedDeviceError for a tensor on another GPUDevice.
 * @throws BufferError if `copy: false` forbids a copy that is needed.
 * @throws ForeignError if ONNX Runtime fails.
 * @example
 * ```ts
 * import { Tensor } from 'dlpack';
 * import { toOnnxRuntime } from 'dlpack/adapters';
 * import * as ort from 'onnxruntime-node';
 * const x = Tensor.from([[1, 2]], { dtype: 'float32' });
 * console.log(toOnnxRuntime(x, ort).dims); // [1, 2]
 * ```
 */
export function toOnnxRuntime<T>(source: DLPackSource, ort: OnnxModule<T>, options?: GPUToOptions): T {
  return lendOnnx({
    adapter: onnxRuntimeAdapter,
    source,
    module: ort,
    usage: 'toOnnxRuntime(x, ort)',
    options,
    makeOnGpu: (tensor) => makeOnGpu(tensor, ort.Tensor as GpuClass<T>, onnxRuntimeAdapter, options),
  });
}

interface OnnxLending<T> {
  readonly adapter: Adapter;
  readonly source: DLPackSource;
  readonly module: OnnxModule<T>;
  readonly usage: string;
  readonly options: GPUToOptions | undefined;
  readonly makeOnGpu: (tensor: Tensor) => T;
}

/** Lends a tensor to ONNX Runtime, or to a library whose `Tensor` class takes the same arguments. */
export function lendOnnx<T>({ adapter, source, module, usage, options, makeOnGpu }: OnnxLending<T>): T {
  return lend({
    adapter,
    source,
    options,
    ownOptions: gpuOption,
    makeOnGpu,
    library: { value: module, property: 'Tensor', usage },
    make: ({ array, tensor: { dtype, shape } }) => {
      const made = new module.Tensor(dtype as never, array as never, shape as never);
      const env = module.env as Environment | undefined;
      if (dtype === 'float16' && (env?.backends?.onnx ?? env)?.versions?.node) {
        // onnxruntime-node finds no elements in a Float16Array, but takes their bits.
        const value = new Uint16Array(array.buffer, array.byteOffset, array.length);
        Object.defineProperty((made as { ort_tensor?: object }).ort_tensor ?? made, 'data', { value });
      }
      return made;
    },
  });
}

/** An `ort.Tensor` over the GPUBuffer of a tensor. */
export function makeOnGpu<T>(
  tensor: Tensor,
  Gpu: GpuClass<T> | undefined,
  { name }: Adapter,
  options: GPUToOptions | undefined,
): T {
  if (!Gpu?.fromGpuBuffer) throw new BufferError('Expected onnxruntime-web; use toOnnxRuntime()');
  const { dtype, shape, nbytes } = tensor;
  // ONNX Runtime reads vectors of 16 bytes, and the results are wrong where the buffer is shorter.
  const size = Math.ceil(nbytes / 16) * 16 || 16;
  return gpuBuffers().lend(tensor, { library: name, dtypes: gpuNames, size }, options, ({ gpuBuffer, release }) =>
    (Gpu as Required<GpuClass<T>>).fromGpuBuffer(gpuBuffer, { dataType: dtype, dims: shape, dispose: release }),
  );
}
