/** Apache Arrow: vectors of numbers, and fixed-size lists of numbers with an axis for each level. */

import { arrayDTypes, checkDType, type DType } from '../dtype.js';
import { ArgumentTypeError, BufferError, isUsable, LayoutError } from '../errors.js';
import { copyOf } from '../from-dlpack.js';
import { MAX_NDIM, sizeOf } from '../layout.js';
import type { DLPackSource } from '../protocol/managed.js';
import type { Tensor } from '../tensor.js';
import { type Adapter, takeObject } from './adapter.js';
import { readCount } from './fields.js';
import { lend } from './lend.js';
import type { AdaptOptions, ToOptions } from './options.js';
import { share } from './share.js';

/** The part of an Arrow `DataType` that the adapter uses. */
export interface ArrowType {
  /** Arrow's number of the type. */
  readonly typeId: number;
  /** The bits of an integer. */
  readonly bitWidth?: number;
  /** Of an integer. */
  readonly isSigned?: boolean;
  /** Of a float: 0 for 16 bits, 1 for 32, 2 for 64. */
  readonly precision?: number;
  /** The length of each list, if all have the same. */
  readonly listSize?: number;
}
/** The part of an Arrow `Data` that the adapter uses. */
export interface ArrowData {
  /** The type of the elements. */
  readonly type: ArrowType;
  /** How many elements there are. */
  readonly length: number;
  /** The first element in the memory. */
  readonly offset: number;
  /** How many elements are missing. */
  readonly nullCount: number;
  /** A typed array; for lists, what Arrow declares: an array of them. */
  readonly values: ArrayLike<unknown>;
  /** A bit for each element, 0 where it is missing; null or empty if none is. */
  readonly nullBitmap: Uint8Array | null;
  /** The elements of lists. */
  readonly children: readonly ArrowData[];
}
/** The part of an Arrow `Vector` that the adapter uses. */
export interface ArrowVector {
  /** The type of the elements. */
  readonly type: ArrowType;
  /** The chunks, each with its own memory. */
  readonly data: readonly ArrowData[];
  /** The number of elements. */
  readonly length: number;
  /** How many elements are null. */
  readonly nullCount: number;
}

/** The part of the module `apache-arrow` that the adapter uses. */
export interface ArrowModule<V> {
  /** The class of vectors. */
  readonly Vector: {
    /** Makes a vector over chunks. */
    new (data: never): V;
  };
  /**
   * Makes a chunk over existing memory.
   *
   * @param properties - The type, and the elements or the chunk of elements.
   */
  makeData(properties: never): unknown;
  /** The class of the type of rows. */
  readonly FixedSizeList: {
    /** Makes the type of lists with `size` elements each. */
    new (size: number, field: never): unknown;
  };
  /** The class of fields. */
  readonly Field: {
    /** Makes a field: a name and a type. */
    new (name: string, type: never): unknown;
  };
}

/** The options of {@link fromArrow}. */
export interface ArrowOptions extends AdaptOptions {
  /** `'refuse'` (default) throws for nulls. `'ignore'` returns the values; `arrowValidity` tells which of them are valid. */
  nulls?: 'refuse' | 'ignore';
}

/** The numbers of Arrow's `Type`. */
const Type = { int: 2, float: 3, bool: 6, fixedSizeList: 16 } as const;

type Classes = Record<string, new () => unknown>;

export const arrowAdapter: Adapter = {
  name: 'Arrow',
  object: 'an Arrow Vector',
  dtypes: arrayDTypes,
  is: isArrow,
  from: fromArrow,
  to: toArrow,
};

/** An object of Arrow's class Data has no data of its own, and those of other libraries have no count of nulls. */
export function isArrow(value: object): value is ArrowVector {
  const { type, data, nullCount } = value as ArrowVector;
  return typeof type?.typeId === 'number' && Array.isArray(data) && typeof nullCount === 'number';
}

/** The dtype of a type, or the type's own name, which no dtype has. */
function dtypeOf(type: ArrowType): DType {
  const { typeId, bitWidth, isSigned, precision = 0 } = type;
  if (typeId === Type.int) return `${isSigned ? '' : 'u'}int${bitWidth}` as DType;
  return (typeId === Type.float ? `float${16 << precision}` : String(type)) as DType;
}

/** A tensor over a bitmap of Arrow, with an element for each bit. A copy starts on a byte. */
function bits(array: unknown, data: ArrowData, options?: AdaptOptions): Tensor {
  const [offset, length] = [readCount(data.offset, 'offset'), readCount(data.length, 'length')];
  const isAdopted = options?.adopt && !options.copy;
  const shape = [offset + length];
  const whole = share({
    adapter: arrowAdapter,
    array,
    layout: { dtype: 'uint1', shape },
    options: isAdopted ? options : undefined,
  });
  const part = whole.slice([offset, offset + length]);
  whole.dispose();
  return options?.copy ? copyOf(part) : part;
}

function onlyChunk({ data }: ArrowVector): ArrowData {
  if (data.length === 1) return checkData(data[0]);
  throw new BufferError('Expected one chunk; use new arrow.Vector([data]) for each of vector.data');
}

/** Throws unless a value has a type, as Arrow's class Data does. */
function checkData(data: unknown): ArrowData {
  if (isUsable(data) && isUsable((data as ArrowData).type)) return data as ArrowData;
  throw new ArgumentTypeError('value', 'Arrow Data', data);
}

/** The elements of a list; null for data of another type. `depth`: the lists around it, because a list may contain itself. */
function innerOf({ type, children }: ArrowData, depth: number): ArrowData | null {
  if (type.typeId !== Type.fixedSizeList) return null;
  if (depth >= MAX_NDIM) throw new LayoutError(`Expected at most ${MAX_NDIM} axes but Arrow's lists are nested deeper`);
  return checkData(children?.[0]);
}

/**
 * Makes a tensor over the values of a vector. Booleans are bits (`'uint1'`), fixed-size lists are rows, also nested
 * lists.
 *
 * @param vector - A vector of numbers, booleans, or fixed-size lists of numbers, with one chunk.
 * @param options - What to do with nulls (`nulls`, `'refuse'` when absent). Whether to copy (`copy`; when absent, only
 *   where the library cannot share) or to move the memory out of the object (`adopt`, false when absent).
 * @returns A tensor that shares the memory of the vector, or a copy.
 * @throws ArgumentTypeError for anything but a vector of Arrow.
 * @throws BufferError for several chunks, for nulls that `nulls: 'ignore'` does not allow, and if `adopt` asks for a
 *   move that is impossible.
 * @throws UnsupportedDTypeError for elements that no dtype describes.
 * @throws LayoutError for lists that are nested deeper than a tensor can be.
 * @example
 * ```ts
 * import { vectorFromArray, Float32 } from 'apache-arrow';
 * import { fromArrow } from 'dlpack/adapters';
 * const x = fromArrow(vectorFromArray([1, 2, 3], new Float32()));
 * console.log(x.dtype, x.toArray()); // float32 [1, 2, 3]
 * ```
 */
export function fromArrow(vector: ArrowVector, options?: ArrowOptions): Tensor {
  return takeObject({
    adapter: arrowAdapter,
    value: vector,
    options,
    ownOptions: { nulls: true },
    read: () => {
      const chunk = onlyChunk(vector);
      const shape = [chunk.length];
      let elements = chunk;
      let { nullCount } = chunk;
      for (let inner = innerOf(chunk, 1); inner !== null; inner = innerOf(inner, shape.length)) {
        shape.push(elements.type.listSize as number);
        nullCount += inner.nullCount;
        elements = inner;
      }
      if (nullCount > 0 && options?.nulls !== 'ignore') {
        throw new BufferError("Expected no nulls; pass { nulls: 'ignore' } and use arrowValidity()");
      }
      if (chunk.type.typeId === Type.bool) return bits(chunk.values, chunk, options);
      const dtype = dtypeOf(elements.type);
      checkDType(dtype, arrayDTypes, 'DLPack');
      return share({ adapter: arrowAdapter, array: elements.values, layout: { shape, dtype }, options });
    },
  });
}

/**
 * Tells which elements of a vector are valid, as bits over its memory (1: valid). For lists: which lists, or if all
 * lists are valid, which of their elements, on one axis.
 *
 * @param vector - A vector with one chunk.
 * @returns A tensor of `uint1` that shares the memory of the bitmap; null when all elements are valid.
 * @throws ArgumentTypeError for anything but a vector of Arrow, BufferError for several chunks, and LayoutError for
 *   lists that are nested deeper than a tensor can be.
 * @example
 * ```ts
 * import { vectorFromArray, Float32 } from 'apache-arrow';
 * import { arrowValidity } from 'dlpack/adapters';
 * console.log(arrowValidity(vectorFromArray([1, null, 3], new Float32()))?.toArray()); // [1, 0, 1]
 * ```
 */
export function arrowValidity(vector: ArrowVector): Tensor | null {
  return takeObject({
    adapter: arrowAdapter,
    value: vector,
    options: undefined,
    read: () => {
      let chunk: ArrowData | null = onlyChunk(vector);
      for (let depth = 1; chunk !== null; depth++) {
        if (chunk.nullCount !== 0) return chunk.nullBitmap === null ? null : bits(chunk.nullBitmap, chunk);
        chunk = innerOf(chunk, depth);
      }
      return null;
    },
  });
}

/**
 * Makes a vector over the memory of a tensor, with fixed-size lists for each axis after the first.
 *
 * @param source - The tensor, or any object with tensors that `fromDLPack` takes.
 * @param arrow - The module `apache-arrow`.
 * @param options - Whether to copy; when absent, only where the library cannot share.
 * @returns A vector that shares the memory, or has a copy of memory that is read-only or not row-major. It keeps the
 *   memory.
 * @throws ArgumentTypeError for anything but a tensor and the module.
 * @throws UnsupportedDTypeError for a dtype that Arrow does not have.
 * @throws LayoutError for a tensor without axes.
 * @throws BufferError if `copy: false` forbids a copy that is needed.
 * @example
 * ```ts
 * import * as arrow from 'apache-arrow';
 * import { Tensor } from 'dlpack';
 * import { toArrow } from 'dlpack/adapters';
 * const vector = toArrow(Tensor.from([1, 2, 3], { dtype: 'float32' }), arrow);
 * console.log(vector.length); // 3
 * ```
 */
export function toArrow<V>(source: DLPackSource, arrow: ArrowModule<V>, options?: ToOptions): V {
  return lend({
    adapter: arrowAdapter,
    source,
    library: { value: arrow, property: 'makeData', usage: 'toArrow(x, arrow), with apache-arrow' },
    options,
    make: ({ array: data, tensor: { dtype, ndim, shape } }) => {
      if (!ndim) throw new LayoutError('Expected an axis for Arrow', shape);
      // Arrow's class of a dtype has its name: Float32.
      const Class = (arrow as unknown as Classes)[dtype.charAt(0).toUpperCase() + dtype.slice(1)] as Classes[string];
      let type = new Class();
      let chunk = arrow.makeData({ type, data } as never);
      for (let axis = ndim; --axis > 0; ) {
        type = new arrow.FixedSizeList(shape[axis] as number, new arrow.Field('item', type as never) as never);
        chunk = arrow.makeData({ type, child: chunk, length: sizeOf(shape.slice(0, axis)) } as never);
      }
      return new arrow.Vector([chunk] as never);
    },
  });
}
