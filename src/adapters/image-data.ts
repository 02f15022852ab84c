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

/**
 * Makes a tensor over the pixels of an image: rows by columns by channels.
 *
 * @param image - An `ImageData`, or a `RawImage` of transformers.js.
 * @param options - Whether to copy (`copy`; when absent, only where the library cannot share) or to move the memory out
 *   of the object (`adopt`, false when absent).
 * @returns A tensor of `uint8`, or of `float16` where the image has such pixels, that shares its memory, or a copy.
 * @throws ArgumentTypeError for anything but an image.
 * @throws LayoutError if the pixels are fewer than width and height say.
 * @throws BufferError if `adopt` asks for a move that is impossible.
 * @example
 * ```ts
 * import { fromImageData } from 'dlpack/adapters';
 * const image = { data: new Uint8ClampedArray([255, 0, 0, 255]), width: 1, height: 1 }; // context.getImageData(...)
 * console.log(fromImageData(image).toArray()); // [[[255, 0, 0, 255]]]
 * ```
 */
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

/**
 * Makes an `ImageData` over the memory of a `uint8` tensor (rows by columns by four channels).
 *
 * @param source - The tensor, or any object with tensors that `fromDLPack` takes.
 * @param ImageData - The class.
 * @param options - Whether to copy; when absent, only where the library cannot share.
 * @returns An image that shares the memory, or has a copy of memory that is read-only, not row-major, or a
 *   SharedArrayBuffer.
 * @throws ArgumentTypeError for anything but a tensor and the class.
 * @throws UnsupportedDTypeError for a dtype that an `ImageData` does not have.
 * @throws LayoutError for another shape.
 * @throws BufferError if `copy: false` forbids a copy that is needed.
 * @throws ForeignError if the class refuses the pixels.
 * @example
 * ```ts fragment: needs a page
 * import { toImageData } from 'dlpack/adapters';
 * context.putImageData(toImageData(x, ImageData), 0, 0);
 * ```
 */
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
