/** Raw images of sharp: rows by columns by channels. */

import { type DType, parseDType } from '../dtype.js';
import { LayoutError } from '../errors.js';
import type { Tensor } from '../tensor.js';
import { type AdaptOptions, callLibrary, checkAdapt, type LendOptions, lend, share } from './share.js';

/** What `raw().toBuffer({ resolveWithObject: true })` resolves to. */
export interface SharpImage {
  readonly data: Uint8Array;
  readonly info: {
    readonly width: number;
    readonly height: number;
    readonly channels: number;
    readonly depth?: string;
  };
}

export interface SharpOptions extends AdaptOptions {
  /** The dtype of the pixels. It is needed only where `info` does not contain their depth. */
  dtype?: DType;
}

export function isSharp(value: object): value is SharpImage {
  const { data, info } = value as SharpImage;
  return ArrayBuffer.isView(data) && typeof info?.channels === 'number' && typeof info.height === 'number';
}

/** The dtypes of sharp's depths. */
const depths: Record<string, DType> = {
  char: 'int8',
  uchar: 'uint8',
  short: 'int16',
  ushort: 'uint16',
  int: 'int32',
  uint: 'uint32',
  float: 'float32',
  double: 'float64',
  complex: 'complex64',
  dpcomplex: 'complex128',
};

/** A tensor over the pixels of a raw image. */
export function fromSharp(image: SharpImage, options?: SharpOptions): Tensor {
  checkAdapt(image, image?.info, 'a raw image of sharp, { data, info }', options, {
    copy: 'boolean or null',
    gpuDevice: true,
    adopt: 'boolean',
    backend: true,
    dtype: true,
  });
  const { width, height, channels, depth = 'uchar' } = image.info;
  const dtype = options?.dtype ?? depths[depth] ?? 'uint8';
  const shape = [height, width, channels];
  // Pixels of another depth, or a compressed image, would be read as other values.
  if (image.data.byteLength * 8 !== height * width * channels * parseDType(dtype).itemBits) {
    throw new LayoutError(`Expected the bytes of raw ${dtype} pixels; use raw(), and pass { dtype }`, shape);
  }
  return share(image.data, { shape, dtype }, options);
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
      return callLibrary('sharp', () => sharp(array as never, { raw: { width, height, channels } } as never));
    },
  );
}
