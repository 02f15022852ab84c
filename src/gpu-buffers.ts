/**
 * Tensors in the GPUBuffers of other libraries. `dlpack/webgpu` registers the functions here, so that programs without
 * WebGPU do not contain them.
 *
 * @module
 */

import type { DType } from './dtype.js';
import { BufferError } from './errors.js';
import type { GPUData } from './protocol/managed.js';
import type { GPUBufferLike } from './storage/storage.js';
import type { Tensor } from './tensor.js';

/** What a library accepts as the memory of a tensor. No library takes an offset. */
export interface BufferNeed {
  /** The library, for messages. */
  readonly library: string;
  /** Bytes of the buffer. */
  readonly size: number;
  /** The library takes all bytes of the buffer for elements. */
  readonly isExact: boolean;
  /** A buffer of the library for a copy, which the library then owns. */
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
}

export interface GpuBuffers {
  /**
   * A tensor over a library's GPUBuffer. `release` is called once, when the last owner has released the tensor. If this
   * throws, the caller keeps the buffer.
   */
  wrap(
    gpuBuffer: GPUBufferLike,
    gpuDevice: object | undefined,
    dtype: DType,
    shape: readonly number[],
    release: () => void,
  ): Tensor;
  /** Lends the GPUBuffer of a tensor to a library, or a copy on the same device where the buffer does not fit. */
  lend(tensor: Tensor, need: BufferNeed, options?: BufferOptions): LentBuffer;
  /** Keeps a lent buffer until the collector finds that `user` no longer exists. */
  keepUntilCollected(user: object, lent: LentBuffer): void;
  /** Throws unless the tensor is on the GPUDevice of a library. Some libraries would return wrong values silently. */
  checkDevice(tensor: Tensor, gpuDevice: object, library: string): void;
}

let registered: GpuBuffers | null = null;

/** `dlpack/webgpu` calls this. */
export function setGpuBuffers(buffers: GpuBuffers): void {
  registered = buffers;
}

export function gpuBuffers(): GpuBuffers {
  if (registered !== null) return registered;
  throw new BufferError('Tensors in GPU memory need dlpack/webgpu; import "dlpack/webgpu" first');
}
