/**
 * Tensors in the GPUBuffers of other libraries. `dlpack/webgpu` registers the functions here, so that programs without
 * WebGPU do not contain them.
 */

import type { DType } from '../dtype.js';
import { BufferError } from '../errors.js';
import type { GPUData } from '../protocol/managed.js';
import { loadBackend } from '../storage/device-backend.js';
import type { GPUBufferLike } from '../storage/storage.js';
import type { Tensor } from '../tensor.js';

import type { FromImageOptions } from './image-options.js';

/** What a library accepts as the memory of a tensor. No library takes an offset. */
export interface BufferNeed {
  /** The library, for messages. */
  readonly library: string;
  /** The dtypes that the library has on WebGPU; absent: all of its dtypes. */
  readonly dtypes?: readonly string[];
  /** Bytes of the buffer. */
  readonly size: number;
  /** The library takes all bytes of the buffer for elements. */
  readonly isExact?: boolean;
  /** The GPUDevice of the library. Some libraries would return wrong values for memory of another one. */
  readonly gpuDevice?: object | null | undefined;
  /** A buffer of the library for a copy, which the library then owns. `gpuBuffer` is read once. */
  acquire?(): { readonly gpuBuffer: GPUBufferLike; release(): void };
}

/** What the user asked for. */
export interface BufferOptions {
  readonly copy?: boolean | null;
  readonly gpuDevice?: object;
}

/** The GPUBuffer that a library gets, and the function that releases it. */
export interface LentBuffer extends GPUData {
  /** The library owns the buffer, so `release` is only for errors. */
  readonly isGiven: boolean;
  release(): void;
  /** Releases the buffer when the collector finds that `user` no longer exists, unless the library owns it. */
  keepFor(user: object): void;
}

/** A GPUBuffer of a library's object. */
interface Taken {
  readonly gpuBuffer: GPUBufferLike;
  readonly dtype: DType;
  readonly shape: readonly number[];
  /** Called once, when the last owner has released the tensor. */
  readonly release: () => void;
  readonly options: BufferOptions | undefined;
}

/** As {@link Taken} with a reference to the library's object, which `release` drops. */
interface Borrowed extends Omit<Taken, 'gpuBuffer'> {
  readonly read: () => GPUBufferLike | null | undefined;
  /** The dtypes of the library whose GPUBuffers a dtype describes; absent: all. */
  readonly dtypes?: readonly string[];
}

export interface GpuBuffers {
  /** `fromImage` of `dlpack/webgpu`. */
  image(source: object, options: FromImageOptions): Tensor;
  /**
   * A tensor that takes over a library's object with a GPUBuffer. If this throws, or returns a copy, the caller keeps the
   * object, and `release` is not called.
   */
  take(taken: Taken): Tensor;
  /**
   * A tensor over the GPUBuffer that `read` returns, or a copy. `release` is also called after a copy, and when this
   * throws.
   */
  borrow(borrowed: Borrowed): Tensor;
  /**
   * Lends the GPUBuffer of a tensor to a library, or a copy on the same device where the buffer does not fit. `make`
   * makes the library's object. The buffer is released when `make` throws.
   */
  lend<R>(tensor: Tensor, need: BufferNeed, options: BufferOptions | undefined, make: (lent: LentBuffer) => R): R;
}

/** `dlpack/webgpu` sets `buffers`. */
export const gpuBackend: { buffers: GpuBuffers | null } = { buffers: null };

export function gpuBuffers(): GpuBuffers {
  if (gpuBackend.buffers === null) loadBackend('webgpu');
  if (gpuBackend.buffers !== null) return gpuBackend.buffers;
  throw new BufferError('GPU tensors need dlpack/webgpu; import "dlpack/webgpu"');
}
