/**
 * Tensors in the GPUBuffers of other libraries. `dlpack/webgpu` registers the functions here, so that programs without
 * WebGPU do not contain them.
 */

import type { DType } from '../dtype.js';
import { BufferError } from '../errors.js';
import type { GPUData } from '../protocol/managed.js';
import type { GPUBufferLike } from '../storage/storage.js';
import type { Tensor } from '../tensor.js';

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

export interface GpuBuffers {
  /**
   * A tensor that takes over a library's object with a GPUBuffer: `release` is called once, when the last owner has
   * released the tensor. If this throws, or returns a copy, the caller keeps the object.
   */
  take(
    gpuBuffer: GPUBufferLike,
    dtype: DType,
    shape: readonly number[],
    release: () => void,
    options: BufferOptions | undefined,
  ): Tensor;
  /**
   * A tensor over the GPUBuffer that `read` returns, or a copy. It owns a reference to the library's object, which
   * `release` drops: when the last owner has released the tensor, after a copy, and when this throws. `dtypes`: those of
   * the library whose GPUBuffers a dtype describes.
   */
  hold(
    read: () => GPUBufferLike | null | undefined,
    dtype: DType,
    shape: readonly number[],
    release: () => void,
    options: BufferOptions | undefined,
    dtypes?: readonly string[],
  ): Tensor;
  /**
   * Lends the GPUBuffer of a tensor to a library, or a copy on the same device where the buffer does not fit. `make`
   * makes the library's object. The buffer is released when `make` throws.
   */
  lend<R>(tensor: Tensor, need: BufferNeed, options: BufferOptions | undefined, make: (lent: LentBuffer) => R): R;
  /** Calls `make` and leaves out its uploads of the memory of `values`, for a library that cannot make an array without one. */
  withoutUpload<R>(gpuDevice: object, values: ArrayBufferView, make: () => R): R;
}

/** `dlpack/webgpu` sets `buffers`. */
export const registered: { buffers: GpuBuffers | null } = { buffers: null };

export function gpuBuffers(): GpuBuffers {
  if (registered.buffers) return registered.buffers;
  throw new BufferError('GPU tensors need dlpack/webgpu; import "dlpack/webgpu"');
}
