/** Raw images of sharp: rows by columns by channels. */

import type { DType } from '../dtype.js';
import { LayoutError } from '../errors.js';
import type { Tensor } from '../tensor.js';
import { type AdaptOptions, checkAdapt, type LendOptions, lend, share } from './share.js';

/** What `raw().toBuffer({ resolveWithObject: true })` resolves to. */
export interface SharpImage {
  readonly data: Uint8Array;
  readonly info: { readonly width: number; readonly height: number; readonly channels: number };
}

export interface SharpOptions extends AdaptOptions {
  /** The dtype of `raw({ depth })`; `'uint8'` when absent. */
  dtype?: DType;
}

export function isSharp(value: object): value is SharpImage {
  const { data, info } = value as SharpImage;
  return ArrayBuffer.isView(data) && typeof info?.channels === 'number' && typeof info.height === 'number';
}

/** A tensor over the pixels of a raw image. */
export function fromSharp(image: SharpImage, options?: SharpOptions): Tensor {
  checkAdapt(image, image?.info, 'a raw image of sharp, { data, info }', options, {
    copy: 'boolean or null',
    gpuDevice: true,
    adopt: 'boolean',
    backend: true,
    dtype: true,
  });
  const { width, height, channels } = image.info;
  return share(image.data, { shape: [height, width, channels], dtype: options?.dtype ?? 'uint8' }, options);
}

/** A sharp pipeline that reads its pixels from the memory of a `uint8` tensor: `toSharp(x, sharp)`. */
export function toSharp<T>(source: object, sharp: (input: never, options: never) => T, options?: LendOptions): T {
  return lend(
    source,
    ['uint8'],
    'sharp',
    sharp,
    'call',
    'use toSharp(x, sharp), with the function',
    options,
    (array, { shape, ndim }) => {
      const [height, width, channels = 1] = shape;
      if (ndim < 2 || ndim > 3) throw new LayoutError('Expected rows by columns by channels for an image', shape);
      return sharp(array as never, { raw: { width, height, channels } } as never);
    },
  );
}
