/** jax-js, whose arrays count their references. */

import { checkDType, type DType, parseDType } from '../dtype.js';
import { ArgumentTypeError } from '../errors.js';
import type { DLPackSource } from '../protocol/managed.js';
import type { GPUBufferLike } from '../storage/storage.js';
import type { Tensor } from '../tensor.js';
import { type Adapter, type NamedDType, takeObject } from './adapter.js';
import { hasFloat16, readMemory, readRelease } from './fields.js';
import { gpuBuffers } from './gpu-buffers.js';
import { lend } from './lend.js';
import { checkCopied, type GPUAdaptOptions, type GPUToOptions, gpuOption } from './options.js';
import { share } from './share.js';

/** The part of a jax-js `Array` that the adapter uses. Every read of `ref` adds a reference. */
export interface JaxArray {
  /** The lengths of the axes. */
  readonly shape: readonly number[];
  /** The element type, by its name in jax-js. */
  readonly dtype: string;
  /** The backend that holds the memory: `'cpu'`, `'wasm'`, `'webgpu'` or `'webgl'`. */
  readonly device: string;
  /** How many references the array has. */
  readonly refCount: number;
  /** The same array with one more reference, which a function of jax-js may take. */
  readonly ref: JaxArray;
  /** Returns the elements as a typed array, and waits for them. */
  dataSync(): unknown;
  /** Gives one reference back. */
  dispose(): void;
}

/** `numpy` of jax-js, or another object with its `array` function. */
export interface JaxModule<T> {
  /**
   * Makes an array from a typed array.
   *
   * @param values - The elements.
   * @param options - The shape, the dtype and the device.
   */
  array(values: never, options: never): T;
}

/** The dtypes that a GPUBuffer of jax-js can have. That of booleans holds 32-bit integers, which no dtype describes. */
const gpuNames = ['float32', 'int32', 'uint32', 'float16'];

export const jaxJsAdapter: Adapter = {
  name: 'jax-js',
  object: 'a live jax-js Array',
  /** Without a Float16Array, jax-js makes no arrays of the last two dtypes. */
  get dtypes() {
    const names = ['float32', 'int32', 'uint32', 'bool'];
    return hasFloat16() ? [...names, 'float16', 'float64'] : names;
  },
  is: isJaxJs,
  from: fromJaxJs,
  to: toJaxJs,
};

const copied = 'jax-js copies host memory';

export function isJaxJs(value: object): value is JaxArray {
  return 'refCount' in value && 'dataSync' in value && 'dtype' in value;
}

/**
 * Makes a tensor with the elements of a jax-js array. The caller keeps the array: the adapter uses a reference of its
 * own.
 *
 * @param value - A live array.
 * @param options - The GPUDevice of an array on WebGPU (`gpuDevice`). Whether to copy (`copy`; when absent, only where
 *   the library cannot share) or to move the memory out of the object (`adopt`, false when absent).
 * @returns A tensor that shares the GPUBuffer of an array on WebGPU and holds its reference. The elements of other
 *   arrays are copied.
 * @throws ArgumentTypeError for anything but a live array, and without `gpuDevice` where it is needed.
 * @throws UnsupportedDTypeError for elements that no dtype describes.
 * @throws BufferError if `copy: false` forbids a copy that is needed, or `adopt` a move that is impossible.
 * @throws ForeignError if jax-js fails.
 * @example
 * ```ts fragment: needs a page
 * import { fromJaxJs } from 'dlpack/adapters';
 * const x = fromJaxJs(array, { gpuDevice: jax.getWebGPUDevice() });
 * ```
 */
export function fromJaxJs<T extends JaxArray>(value: T, options?: GPUAdaptOptions): Tensor<NamedDType<T['dtype']>> {
  return takeObject<GPUAdaptOptions, Tensor>({
    adapter: jaxJsAdapter,
    value,
    options,
    ownOptions: gpuOption,
    read: () => {
      if (!value.refCount) throw new ArgumentTypeError('value', jaxJsAdapter.object, value);
      const { shape, dtype: name, device } = value;
      checkDType(name, jaxJsAdapter.dtypes, 'DLPack');
      const dtype = name as DType;
      if (device === 'webgpu') {
        const { borrow } = gpuBuffers();
        const release = readRelease(jaxJsAdapter, value.ref, 'dispose');
        return borrow({ read: () => bufferOf(value), dtype, shape, release, options, dtypes: gpuNames });
      }
      checkCopied(options, copied);
      const values = readMemory(value.ref.dataSync()); // reading consumes the reference
      // jax-js stores booleans as 32-bit integers.
      const array = dtype === 'bool' ? Uint8Array.from(values as Int32Array) : values;
      return share({ adapter: jaxJsAdapter, array, layout: { shape, dtype }, options, copied });
    },
  }) as Tensor<NamedDType<T['dtype']>>;
}

/** The GPUBuffer of an array. Reading consumes the reference. */
const bufferOf = ({ ref }: JaxArray): GPUBufferLike =>
  (ref as JaxArray & { gpuBufferSync(): GPUBufferLike }).gpuBufferSync();

/**
 * Copies a tensor into a jax-js array. A tensor on WebGPU is copied on the GPU, with `gpuDevice:
 * jax.getWebGPUDevice()`.
 *
 * @param source - The tensor, or any object with tensors that `fromDLPack` takes.
 * @param numpy - `jax.numpy`.
 * @param options - The GPUDevice of jax-js, for a tensor on WebGPU (`gpuDevice`). `copy: false` throws, because the
 *   elements are always copied.
 * @returns A new array with its own memory.
 * @throws ArgumentTypeError for anything but a tensor and `jax.numpy`, and without `gpuDevice` where it is needed.
 * @throws UnsupportedDTypeError for a dtype that jax-js does not have.
 * @throws UnsupportedDeviceError for a tensor on a device that is neither the host nor `gpuDevice`.
 * @throws BufferError for `copy: false`.
 * @throws ForeignError if jax-js fails.
 * @example
 * ```ts fragment: needs jax-js in a page
 * import { toJaxJs } from 'dlpack/adapters';
 * const array = toJaxJs(x, jax.numpy);
 * ```
 */
export function toJaxJs<T>(source: DLPackSource, numpy: JaxModule<T>, options?: GPUToOptions): T {
  // jax-js takes no typed array without elements.
  const construct = (values: object, { size, shape, dtype }: Tensor, device?: string) =>
    numpy.array((size > 0 ? values : []) as never, { shape: [...shape], dtype, device } as never);
  return lend({
    adapter: jaxJsAdapter,
    source,
    library: { value: numpy, property: 'array', usage: 'toJaxJs(x, jax.numpy)' },
    options,
    ownOptions: gpuOption,
    copied,
    make: ({ array, tensor }) =>
      construct(tensor.dtype === 'bool' ? Int32Array.from(array as Uint8Array) : array, tensor),
    makeOnGpu: (tensor) => {
      const gpuDevice = options?.gpuDevice;
      if (!gpuDevice) throw new ArgumentTypeError('gpuDevice', 'jax.getWebGPUDevice()', gpuDevice);
      // jax-js takes no GPUBuffers that it did not make, so the tensor is copied into a new jax-js array, which uploads its
      // own values first.
      let made: T;
      const acquire = () => {
        const values = new (parseDType(tensor.dtype).array as Float32ArrayConstructor)(tensor.size);
        made = construct(values, tensor, 'webgpu');
        const array = made as JaxArray;
        return {
          get gpuBuffer() {
            return bufferOf(array);
          },
          release: () => array.dispose(),
        };
      };
      const need = {
        library: jaxJsAdapter.name,
        dtypes: gpuNames.slice(0, 3),
        size: tensor.nbytes,
        gpuDevice,
        acquire,
      };
      return gpuBuffers().lend(tensor, need, { copy: true }, () => made);
    },
  });
}
