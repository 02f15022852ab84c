/** jax-js, whose arrays count their references. */

import { checkDType, type DType, parseDType, type TypedArray } from '../dtype.js';
import { ArgumentTypeError } from '../errors.js';
import type { GPUBufferLike } from '../storage/storage.js';
import type { Tensor } from '../tensor.js';
import { gpuBuffers } from './gpu-buffers.js';
import { type AdaptOptions, checkAdapt, checkCopied, hasFloat16, type LendOptions, lend, share } from './share.js';

/** The part of a jax-js `Array` that the adapter uses. Every read of `ref` adds a reference. */
export interface JaxArray {
  readonly shape: readonly number[];
  readonly dtype: string;
  readonly device: string;
  readonly refCount: number;
  readonly ref: JaxArray;
  dataSync(): unknown;
  dispose(): void;
}

/** `numpy` of jax-js, or another object with its `array` function. */
export interface JaxModule<T> {
  array(values: never, options: never): T;
}

const library = 'jax-js';
const gpuNames = ['float32', 'int32', 'uint32'];
// The mark of a pure call lets a bundler omit a list from a program that does not use this adapter.
const hostNames = /* @__PURE__ */ gpuNames.concat('bool');
const allNames = /* @__PURE__ */ hostNames.concat('float16', 'float64');
/** Without a Float16Array, jax-js makes no arrays of the last two dtypes. */
const names = () => (hasFloat16() ? allNames : hostNames);
const copied = 'jax-js copies host memory';

export function isJaxJs(value: object): value is JaxArray {
  return 'refCount' in value && 'dataSync' in value && 'dtype' in value;
}

/**
 * A tensor with the elements of a jax-js array. The caller keeps the array: the adapter uses a reference of its own. An
 * array on WebGPU is shared, and the tensor holds the reference. Other arrays are copied.
 */
export function fromJaxJs(value: JaxArray, options?: AdaptOptions): Tensor {
  checkAdapt(value, value?.refCount || null, 'a live jax-js Array', options);
  const { shape, dtype, device } = value;
  checkDType(dtype, names(), 'DLPack');
  if (device === 'webgpu') {
    const { hold } = gpuBuffers();
    const held = value.ref;
    const release = () => held.dispose();
    // The GPUBuffer of booleans holds 32-bit integers, which no dtype describes.
    return hold(() => bufferOf(value), dtype as DType, shape, release, options, [...gpuNames, 'float16']);
  }
  checkCopied(options, copied);
  const array = value.ref.dataSync() as TypedArray; // reading consumes the reference
  // jax-js stores booleans as 32-bit integers.
  const values = dtype === 'bool' ? Uint8Array.from(array as Int32Array) : array;
  return share(values, { shape, dtype: dtype as DType }, options, copied);
}

/** The GPUBuffer of an array. Reading consumes the reference. */
const bufferOf = ({ ref }: JaxArray): GPUBufferLike =>
  (ref as JaxArray & { gpuBufferSync(): GPUBufferLike }).gpuBufferSync();

/**
 * A jax-js array with the elements of a tensor, always a copy: `toJaxJs(x, jax.numpy)`. A tensor on WebGPU is copied on
 * the GPU: `toJaxJs(x, jax.numpy, { gpuDevice: jax.getWebGPUDevice() })`.
 */
export function toJaxJs<T>(source: object, numpy: JaxModule<T>, options?: LendOptions): T {
  checkCopied(options, copied);
  // jax-js takes no typed array without elements.
  const make = (values: object, { size, shape, dtype }: Tensor, device?: string) =>
    numpy.array((size > 0 ? values : []) as never, { shape: [...shape], dtype, device } as never);
  return lend(
    source,
    names(),
    library,
    numpy,
    'array',
    'use toJaxJs(x, jax.numpy)',
    options,
    (array, tensor) => make(tensor.dtype === 'bool' ? Int32Array.from(array as Uint8Array) : array, tensor),
    (tensor) => {
      const gpuDevice = options?.gpuDevice;
      if (!gpuDevice) throw new ArgumentTypeError('gpuDevice', 'jax.getWebGPUDevice()', gpuDevice);
      // jax-js takes no GPUBuffers that it did not make, so the tensor is copied into a new jax-js array. jax-js makes an
      // array of zeros with a shader, and uploads the values of a typed array. Both take longer than the copy, so these
      // values are not uploaded.
      const { lend: lendBuffer, withoutUpload } = gpuBuffers();
      let made: T;
      const acquire = () => {
        const values = new (parseDType(tensor.dtype).array as Float32ArrayConstructor)(tensor.size);
        made = withoutUpload(gpuDevice, values, () => make(values, tensor, 'webgpu'));
        const array = made as JaxArray;
        return {
          get gpuBuffer() {
            return bufferOf(array);
          },
          release: () => array.dispose(),
        };
      };
      return lendBuffer(
        tensor,
        { library, dtypes: gpuNames, size: tensor.nbytes, gpuDevice, acquire },
        { copy: true },
        () => made,
      );
    },
  );
}
