/** `ImageData` of a canvas: rows by columns by red, green, blue and alpha; and images that name their channels. */

import type { NaturalDType } from '../dtype.js';
import { LayoutError } from '../errors.js';
import type { DLPackSource } from '../protocol/managed.js';
import { isShared } from '../storage/storage.js';
import type { Tensor } from '../tensor.js';
import { type Adapter, takeObject } from './adapter.js';
import { lend } from './lend.js';
import { type AdaptOptions, checkCopied, type ToOptions } from './options.js';
import { share } from './share.js';

/** The part of `ImageData` that the adapter uses. */
export interface ImageDataLike {
  /** The pixels, row by row. */
  readonly data: object;
  /** The width in pixels. */
  readonly width: number;
  /** The height in pixels. */
  readonly height: number;
  /** Of a `RawImage` of transformers.js, for example. Four when absent. */
  readonly channels?: number;
}

export const imageDataAdapter: Adapter = {
  name: 'ImageData',
  object: 'an ImageData',
  dtypes: ['uint8', 'float16'],
  is: isImageData,
  from: fromImageData,
  to: toImageData,
};

export function isImageData(value: object): value is ImageDataLike {
  const { data, width, height } = value as ImageDataLike;
  return ArrayBuffer.isView(data) && typeof width === 'number' && typeof height === 'number';
}

/** A tensor over the pixels of an image: `uint8`, or `float16` where the image has such pixels. */
export function fromImageData<T extends ImageDataLike>(
  image: T,
  options?: AdaptOptions,
): Tensor<NaturalDType<T['data']>> {
  return takeObject<AdaptOptions, Tensor>({
    adapter: imageDataAdapter,
    value: image,
    options,
    read: () => {
      const { data: array, width, height, channels = 4 } = image;
      return share({ adapter: imageDataAdapter, array, layout: { shape: [height, width, channels] }, options });
    },
  }) as Tensor<NaturalDType<T['data']>>;
}

/** The array whose memory an image has. It keeps the memory, so it must live as long as the array of the image. */
const lentTo = new WeakMap<Uint8ClampedArray, object>();

/** An `ImageData` over the memory of a `uint8` tensor: `toImageData(x, ImageData)`. */
export function toImageData<T>(
  source: DLPackSource,
  ImageData: { new (data: never, width: number, height: number): T },
  options?: ToOptions,
): T {
  return lend({
    adapter: imageDataAdapter,
    source,
    library: { value: ImageData, property: 'call', usage: 'toImageData(x, ImageData), with the class' },
    options,
    dtypes: ['uint8'],
    make: ({ array, tensor: { shape, ndim } }) => {
      const [height = 0, width = 0, channels] = shape;
      if (ndim !== 3 || channels !== 4) {
        throw new LayoutError('Expected rows by columns by four channels for ImageData', shape);
      }
      let pixels = new Uint8ClampedArray(array.buffer, array.byteOffset, array.length);
      if (isShared(array.buffer)) {
        checkCopied(options, 'an ImageData cannot have a SharedArrayBuffer; allow a copy');
        pixels = pixels.slice();
      }
      lentTo.set(pixels, array);
      return new ImageData(pixels as never, width, height);
    },
  });
}
