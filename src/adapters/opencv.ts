/** `Mat` of OpenCV.js: rows by columns, and channels where there are several. */

import { type DType, parseDType } from '../dtype.js';
import { LayoutError, UnsupportedDTypeError } from '../errors.js';
import type { DLPackSource } from '../protocol/managed.js';
import type { Tensor } from '../tensor.js';
import { type Adapter, takeObject } from './adapter.js';
import { borrow } from './borrow.js';
import { readCount, readRelease } from './fields.js';
import { lend } from './lend.js';
import type { AdaptOptions, ToOptions } from './options.js';

/** The part of `cv.Mat` that the adapter uses. */
export interface OpenCVMat {
  /** The number of rows. */
  readonly rows: number;
  /** The number of columns. */
  readonly cols: number;
  /** The bytes from one row to the next, and from one pixel to the next. */
  readonly step: ArrayLike<number>;
  /** The bytes of a matrix without gaps, in the memory of OpenCV. */
  readonly data: Uint8Array;
  /** Returns the number of values in a pixel. */
  channels(): number;
  /** Returns the number of the element type, such as `CV_8U`. */
  depth(): number;
  /**
   * Makes a second header of the same memory.
   *
   * @param start - The first row.
   * @param end - The row after the last.
   */
  rowRange(start: number, end: number): OpenCVMat;
  /** Frees this header, and the memory with the last header. */
  delete(): void;
}

/** `cv`, or another object with its `Mat` class. */
export interface OpenCVModule<M> {
  /** The class of matrices. */
  readonly Mat: {
    /** Makes a matrix without setting its elements. */
    new (rows: number, columns: number, type: number): M;
  };
}

/** In the order of OpenCV's depths. */
const depths: readonly DType[] = ['uint8', 'int8', 'uint16', 'int16', 'int32', 'float32', 'float64'];

export const openCVAdapter: Adapter = {
  name: 'OpenCV.js',
  object: 'a cv.Mat',
  dtypes: depths,
  is: isOpenCV,
  from: fromOpenCV,
  to: toOpenCV,
};

export function isOpenCV(value: object): value is OpenCVMat {
  const { channels, depth, rowRange } = value as OpenCVMat;
  return [channels, depth, rowRange].every((method) => typeof method === 'function');
}

/**
 * Makes a tensor over the memory of a `Mat`, also of a region with gaps between its rows. It has a second header of the
 * memory, so `mat.delete()` may come before or after its end.
 *
 * @param mat - A matrix of OpenCV.js.
 * @param options - Whether to copy (`copy`; when absent, only where the library cannot share) or to move the memory out
 *   of the object (`adopt`, false when absent).
 * @returns A tensor that shares the memory, of rows by columns, and by channels where there are several; or a copy.
 * @throws ArgumentTypeError for anything but a `Mat`.
 * @throws UnsupportedDTypeError for elements that no dtype describes.
 * @throws BufferError for `adopt`, because the heap keeps its memory.
 * @throws ForeignError if OpenCV.js fails.
 * @example
 * ```ts fragment: needs OpenCV.js
 * import { fromOpenCV } from 'dlpack/adapters';
 * const pixels = fromOpenCV(cv.imread('canvas'));
 * ```
 */
export function fromOpenCV(mat: OpenCVMat, options?: AdaptOptions): Tensor {
  return takeObject({
    adapter: openCVAdapter,
    value: mat,
    options,
    read: () => {
      const rows = readCount(mat.rows, 'rows');
      const columns = readCount(mat.cols, 'cols');
      const channels = readCount(mat.channels(), 'channels');
      const dtype = depths[mat.depth()];
      if (dtype === undefined) {
        throw new UnsupportedDTypeError(String(mat.depth()), `Expected a Mat of ${depths.join(', ')}`);
      }
      const size = parseDType(dtype).itemBits / 8;
      const step = readCount(mat.step[0] as number, 'step');
      const pixels = [columns, channels].slice(0, channels === 1 ? 1 : 2);
      const header = mat.rowRange(0, rows);
      const release = readRelease(openCVAdapter, header, 'delete');
      return borrow({
        adapter: openCVAdapter,
        view: () => header.data,
        dtype,
        shape: [rows, ...pixels],
        strides: [step / size, ...(channels === 1 ? [1] : [channels, 1])],
        byteOffset: 0,
        nbytes: rows === 0 ? 0 : (rows - 1) * step + columns * channels * size,
        release,
        options,
      });
    },
  });
}

/**
 * Copies a tensor of rows by columns, or rows by columns by channels, into a `Mat`. The caller deletes it.
 *
 * @param source - The tensor, or any object with tensors that `fromDLPack` takes.
 * @param cv - The module.
 * @param options - `copy: false` throws, because the elements are always copied.
 * @returns A new matrix in the memory of OpenCV.js.
 * @throws ArgumentTypeError for anything but a tensor and the module.
 * @throws UnsupportedDTypeError for a dtype that OpenCV.js does not have.
 * @throws LayoutError for another number of axes, or more than 512 channels.
 * @throws BufferError for `copy: false`.
 * @throws ForeignError if OpenCV.js fails.
 * @example
 * ```ts fragment: needs OpenCV.js
 * import { toOpenCV } from 'dlpack/adapters';
 * cv.imshow('canvas', toOpenCV(pixels, cv));
 * ```
 */
export function toOpenCV<M extends OpenCVMat>(source: DLPackSource, cv: OpenCVModule<M>, options?: ToOptions): M {
  return lend({
    adapter: openCVAdapter,
    source,
    library: { value: cv, property: 'Mat', usage: 'toOpenCV(x, cv), with the module' },
    options,
    copied: 'OpenCV.js has its own memory',
    make: ({ array, tensor: { dtype, shape, ndim } }) => {
      const [rows = 0, columns = 0, channels = 1] = shape;
      if (ndim < 2 || ndim > 3 || channels < 1 || channels > 512) {
        throw new LayoutError('Expected rows by columns, or rows by columns by channels, for OpenCV.js', shape);
      }
      const mat = new cv.Mat(rows, columns, depths.indexOf(dtype) + (channels - 1) * 8);
      mat.data.set(new Uint8Array(array.buffer, array.byteOffset, array.byteLength));
      return mat;
    },
  });
}
