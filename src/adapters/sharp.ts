/** Raw images of sharp: rows by columns by channels. */

import { type DType, parseDType } from '../dtype.js';
import { LayoutError } from '../errors.js';
import type { DLPackSource } from '../protocol/managed.js';
import type { Tensor } from '../tensor.js';
import { type Adapter, takeObject } from './adapter.js';
import { readMemory } from './fields.js';
import { lend } from './lend.js';
import type { AdaptOptions, ToOptions } from './options.js';
import { share } from './share.js';

/** What `raw().toBuffer({ resolveWithObject: true })` resolves to. */
export interface SharpImage {
  /** The pixels, row by row. */
  readonly data: Uint8Array;
  /** What sharp says about them. */
  readonly info: {
    /** The width in pixels. */
    readonly width: number;
    /** The height in pixels. */
    readonly height: number;
    /** The number of values in a pixel: 3 for RGB, 4 with alpha. */
    readonly channels: number;
    /** The element type of `data`, such as `'uchar'`. Bytes when absent. */
    readonly depth?: string;
  };
}

/** The options of {@link fromSharp}. */
export interface SharpOptions<D extends DType = DType> extends AdaptOptions {
  /** The dtype that the pixels must have. The default is that of the depth in `info`, and `'uint8'` where `info` has none. */
  dtype?: D;
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

export const sharpAdapter: Adapter = {
  name: 'sharp',
  object: 'a raw image of sharp, { data, info }',
  get dtypes() {
    return Object.values(depths);
  },
  is: isSharp,
  from: fromSharp,
  to: toSharp,
};

export function isSharp(value: object): value is SharpImage {
  const { data, info } = value as SharpImage;
  return ArrayBuffer.isView(data) && typeof info?.channels === 'number' && typeof info.height === 'number';
}

/** What to do with a pipeline of sharp, and with bytes alone. */
export const rawAdvice = 'use await image.raw().toBuffer({ resolveWithObject: true })';

/** True for what `sharp(file)` returns. */
export function isPipeline(value: object): boolean {
  const { raw, toBuffer } = value as Record<string, unknown>;
  return typeof raw === 'function' && typeof toBuffer === 'function';
}

/**
 * Makes a tensor over the pixels of a raw image: rows by columns by channels.
 *
 * @param image - What `raw().toBuffer({ resolveWithObject: true })` resolves to.
 * @param options - The dtype that the pixels must have, for versions whose `info` does not contain it (`dtype`). Whether to copy (`copy`;
 *   when absent, only where the library cannot share) or to move the memory out of the object (`adopt`, false when
 *   absent).
 * @returns A tensor that shares sharp's memory, or a copy.
 * @throws ArgumentTypeError for anything but a raw image, such as a pipeline or bytes alone.
 * @throws LayoutError for pixels of another dtype, or a compressed image.
 * @throws BufferError if `adopt` asks for a move that is impossible.
 * @example
 * ```ts
 * import { fromSharp } from 'dlpack/adapters';
 * import sharp from 'sharp';
 * const red = sharp({ create: { width: 2, height: 1, channels: 3, background: 'red' } });
 * const x = fromSharp(await red.raw().toBuffer({ resolveWithObject: true }));
 * console.log(x.toArray()); // [[[255, 0, 0], [255, 0, 0]]]
 * ```
 */
export function fromSharp<D extends DType>(image: SharpImage, options: SharpOptions<D> & { dtype: D }): Tensor<D>;
export function fromSharp(image: SharpImage, options?: SharpOptions): Tensor;
export function fromSharp(image: SharpImage, options?: SharpOptions): Tensor {
  return takeObject({
    adapter: sharpAdapter,
    value: image,
    options,
    ownOptions: { dtype: true },
    advise: (value) => (ArrayBuffer.isView(value) || isPipeline(value) ? rawAdvice : undefined),
    read: () => {
      const array = readMemory(image.data);
      const { width, height, channels, depth } = image.info;
      const known = depth === undefined ? undefined : depths[depth];
      const dtype = options?.dtype ?? known ?? 'uint8';
      const shape = [height, width, channels];
      if (dtype !== (known ?? dtype)) {
        throw new LayoutError(
          `Expected raw ${dtype} pixels but sharp made ${known}; use raw({ depth }) or astype()`,
          shape,
        );
      }
      // Pixels of another depth, or a compressed image, would be read as other values.
      if (array.byteLength * 8 !== height * width * channels * parseDType(dtype).itemBits) {
        throw new LayoutError(`Expected the bytes of raw ${dtype} pixels; use raw(), and pass { dtype }`, shape);
      }
      return share({ adapter: sharpAdapter, array, layout: { shape, dtype }, options });
    },
  });
}

/**
 * Makes a sharp pipeline that reads its pixels from the memory of a `uint8`, `uint16` or `float32` tensor. Values of
 * the last two go from 0 to 65,535.
 *
 * @param source - The tensor, or any object with tensors that `fromDLPack` takes.
 * @param sharp - The function.
 * @param options - Whether to copy; when absent, only where the library cannot share.
 * @returns A pipeline over the memory, or over a copy of memory that is read-only or not row-major.
 * @throws ArgumentTypeError for anything but a tensor and the function.
 * @throws UnsupportedDTypeError for a dtype that sharp does not have.
 * @throws LayoutError for anything but rows by columns by one to four channels.
 * @throws BufferError if `copy: false` forbids a copy that is needed.
 * @throws ForeignError if sharp fails.
 * @example
 * ```ts
 * import { Tensor } from 'dlpack';
 * import { toSharp } from 'dlpack/adapters';
 * import sharp from 'sharp';
 * const image = await toSharp(Tensor.zeros([2, 4, 3], 'uint8'), sharp).resize(8).png().toBuffer({ resolveWithObject: true });
 * console.log(image.info.height); // 4
 * ```
 */
export function toSharp<T>(source: DLPackSource, sharp: (input: never, options: never) => T, options?: ToOptions): T {
  return lend({
    adapter: sharpAdapter,
    source,
    library: { value: sharp, property: 'call', usage: 'toSharp(x, sharp), with the function' },
    options,
    dtypes: ['uint8', 'uint16', 'float32'],
    make: ({ array, tensor: { shape } }) => {
      checkImage(shape);
      const [height, width, channels = 1] = shape;
      return sharp(array as never, { raw: { width, height, channels } } as never);
    },
  });
}

/** Throws unless a shape is rows by columns, or rows by columns by one to four channels. */
function checkImage(shape: readonly number[]): void {
  const isChannels = (length: number | undefined) => length !== undefined && length >= 1 && length <= 4;
  if (shape.length === 2 || (shape.length === 3 && isChannels(shape[2]))) return;
  const isPlanes = shape.length === 3 && isChannels(shape[0]);
  throw new LayoutError(
    `Expected rows by columns by one to four channels for sharp but received [${shape.join(', ')}]` +
      (isPlanes ? '; channels are first here, so use x.transpose([1, 2, 0])' : ''),
    shape,
  );
}
