/** Masks of MediaPipe's vision tasks (`MPMask`): rows by columns. */

import { LayoutError } from '../errors.js';
import type { DLPackSource } from '../protocol/managed.js';
import type { Tensor } from '../tensor.js';
import { type Adapter, takeObject } from './adapter.js';
import { lend } from './lend.js';
import type { AdaptOptions, ToOptions } from './options.js';
import { share } from './share.js';

/** The part of `MPMask` that the adapter uses. */
export interface MediaPipeMask {
  /** The width in pixels. */
  readonly width: number;
  /** The height in pixels. */
  readonly height: number;
  /** Returns true if the mask has categories as bytes. */
  hasUint8Array(): boolean;
  /** Returns true if the mask has confidences as floats. */
  hasFloat32Array(): boolean;
  /** Returns the mask as bytes, and converts it if it has none. */
  getAsUint8Array(): Uint8Array;
  /** Returns the mask as floats, and converts it if it has none. */
  getAsFloat32Array(): Float32Array;
}

/** The module `@mediapipe/tasks-vision`, or another object with its class `MPMask`. */
export interface MediaPipeModule<M> {
  /** The class of masks. */
  readonly MPMask: {
    /** A mask. */
    prototype: M;
  };
}

export const mediaPipeAdapter: Adapter = {
  name: 'MediaPipe',
  object: 'an MPMask',
  dtypes: ['float32', 'uint8'],
  is: isMediaPipe,
  from: fromMediaPipe,
  to: toMediaPipe,
};

export function isMediaPipe(value: object): value is MediaPipeMask {
  const { getAsFloat32Array, hasUint8Array } = value as MediaPipeMask;
  return typeof getAsFloat32Array === 'function' && typeof hasUint8Array === 'function';
}

/**
 * Makes a tensor over the array of a mask: categories are `uint8`, confidences `float32`. MediaPipe reads a mask that
 * is only on the GPU into a `float32` array first, which the mask keeps. A mask that a task returns has an array of its
 * own, so the tensor stays valid after `mask.close()`. A mask that a callback receives is valid until the callback
 * ends: use `{ copy: true }` there.
 *
 * @param mask - A mask, open.
 * @param options - Whether to copy (`copy`; when absent, only where the library cannot share) or to move the memory out
 *   of the object (`adopt`, false when absent).
 * @returns A tensor of rows by columns that shares the array of the mask, or a copy.
 * @throws ArgumentTypeError for anything but a mask.
 * @throws BufferError if `adopt` asks for a move that is impossible.
 * @throws ForeignError if MediaPipe fails.
 * @example
 * ```ts fragment: needs a page
 * import { fromMediaPipe } from 'dlpack/adapters';
 * const { confidenceMasks } = segmenter.segment(image);
 * const x = fromMediaPipe(confidenceMasks[0]);
 * ```
 */
export function fromMediaPipe(mask: MediaPipeMask, options?: AdaptOptions): Tensor {
  return takeObject({
    adapter: mediaPipeAdapter,
    value: mask,
    options,
    read: () => {
      const { width, height } = mask;
      const array = mask.hasUint8Array() ? mask.getAsUint8Array() : mask.getAsFloat32Array();
      return share({ adapter: mediaPipeAdapter, array, layout: { shape: [height, width] }, options });
    },
  });
}

type Maker<M> = new (
  arrays: readonly unknown[],
  interpolates: boolean,
  canvas: undefined,
  ownsTexture: boolean,
  width: number,
  height: number,
) => M;

/**
 * Makes a mask over the memory of a tensor of rows by columns.
 *
 * @param source - The tensor, or any object with tensors that `fromDLPack` takes.
 * @param vision - The module `@mediapipe/tasks-vision`.
 * @param options - Whether to copy; when absent, only where the library cannot share.
 * @returns A mask that shares the memory, or has a copy of memory that is read-only or not row-major.
 * @throws ArgumentTypeError for anything but a tensor and the module.
 * @throws UnsupportedDTypeError for a dtype that MediaPipe does not have.
 * @throws LayoutError for anything but two axes.
 * @throws BufferError if `copy: false` forbids a copy that is needed.
 * @example
 * ```ts fragment: needs a page
 * import * as vision from '@mediapipe/tasks-vision';
 * import { toMediaPipe } from 'dlpack/adapters';
 * const mask = toMediaPipe(x, vision);
 * ```
 */
export function toMediaPipe<M>(source: DLPackSource, vision: MediaPipeModule<M>, options?: ToOptions): M {
  return lend({
    adapter: mediaPipeAdapter,
    source,
    library: { value: vision, property: 'MPMask', usage: 'toMediaPipe(x, vision), with @mediapipe/tasks-vision' },
    options,
    make: ({ array, tensor: { shape, ndim } }) => {
      const [height = 0, width = 0] = shape;
      if (ndim !== 2) throw new LayoutError('Expected rows by columns for MediaPipe', shape);
      return new (vision.MPMask as never as Maker<M>)([array], true, undefined, false, width, height);
    },
  });
}
