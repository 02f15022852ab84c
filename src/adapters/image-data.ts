/** `ImageData` of a canvas: rows by columns by red, green, blue and alpha; and images that name their channels. */

import { LayoutError } from '../errors.js';
import type { Tensor } from '../tensor.js';
import { type AdaptOptions, callLibrary, checkAdapt, checkCopied, type LendOptions, lend, share } from './share.js';

/** The part of `ImageData` that the adapter uses. */
export interface ImageDataLike {
  readonly data: object;
  readonly width: number;
  readonly height: number;
  /** Of a `RawImage` of transformers.js, for example. Four when absent. */
  readonly channels?: number;
}

export function isImageData(value: object): value is ImageDataLike {
  const { data, width, height } = value as ImageDataLike;
  return ArrayBuffer.isView(data) && typeof width === 'number' && typeof height === 'number';
}

/** A tensor over the pixels of an image: `uint8`, or `float16` where the image has such pixels. */
export function fromImageData(image: ImageDataLike, options?: AdaptOptions): Tensor {
  checkAdapt(image, image?.height, 'an ImageData', options);
  return share(image.data, { shape: [image.height, image.width, image.channels ?? 4] }, options);
}

/** The array whose memory an image has. It keeps the memory, so it must live as long as the array of the image. */
const lentTo = new WeakMap<Uint8ClampedArray, object>();

/** An `ImageData` over the memory of a `uint8` tensor. The class is that of the page unless another is given. */
export function toImageData<T = ImageDataLike>(
  source: object,
  Made: { new (data: never, width: number, height: number): T } = (globalThis as never as { ImageData: never })
    .ImageData,
  options?: LendOptions,
): T {
  return lend(
    source,
    ['uint8'],
    'ImageData',
    Made,
    'call',
    'use toImageData(x, ImageData), with the class',
    options,
    (array, { shape, ndim }) => {
      const [height = 0, width = 0, channels] = shape;
      if (ndim !== 3 || channels !== 4) {
        throw new LayoutError('Expected rows by columns by four channels for ImageData', shape);
      }
      let pixels = new Uint8ClampedArray(array.buffer, array.byteOffset, array.length);
      if (array.buffer[Symbol.toStringTag] === 'SharedArrayBuffer') {
        checkCopied(options, 'an ImageData cannot have a SharedArrayBuffer; allow a copy');
        pixels = pixels.slice();
      }
      lentTo.set(pixels, array);
      return callLibrary('ImageData', () => new Made(pixels as never, width, height));
    },
  );
}
