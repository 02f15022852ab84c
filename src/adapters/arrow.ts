/** Apache Arrow: vectors of numbers, and fixed-size lists of numbers with an axis for each level. */

import { arrayDTypes, checkDType, type DType } from '../dtype.js';
import { BufferError, LayoutError } from '../errors.js';
import { copyOf } from '../from-dlpack.js';
import { sizeOf } from '../layout.js';
import type { Tensor } from '../tensor.js';
import { type AdaptOptions, checkAdapt, type LendOptions, lend, share } from './share.js';

interface ArrowType {
  readonly typeId: number;
  readonly bitWidth?: number;
  readonly isSigned?: boolean;
  readonly precision?: number;
  readonly listSize?: number;
}
interface ArrowData {
  readonly type: ArrowType;
  readonly length: number;
  readonly offset: number;
  readonly nullCount: number;
  /** A typed array; for lists, what Arrow declares: an array of them. */
  readonly values: ArrayLike<unknown>;
  readonly nullBitmap: Uint8Array | null;
  readonly children: readonly ArrowData[];
}
/** The part of an Arrow `Vector` that the adapter uses. */
export interface ArrowVector {
  readonly type: ArrowType;
  readonly data: readonly ArrowData[];
  readonly length: number;
  readonly nullCount: number;
}

/** The part of the module `apache-arrow` that the adapter uses. */
export interface ArrowModule<V> {
  readonly Vector: { new (data: never): V };
  makeData(properties: never): unknown;
  readonly FixedSizeList: { new (size: number, field: never): unknown };
  readonly Field: { new (name: string, type: never): unknown };
}

export interface ArrowOptions extends AdaptOptions {
  /** `'ignore'` returns the values of a vector with nulls. `arrowValidity` tells which of them are valid. */
  nulls?: 'refuse' | 'ignore';
}

/** The numbers of Arrow's `Type`. An enum, because bundles contain only its numbers. */
enum Type {
  Int = 2,
  Float = 3,
  Bool = 6,
  FixedSizeList = 16,
}

type Classes = Record<string, new () => unknown>;

/** Arrow's class of each dtype, because building its name takes a tenth of an export. */
const classNames: Record<string, string> = {};

export function isArrow(value: object): value is ArrowVector {
  const { type, data, nullCount } = value as ArrowVector;
  return typeof type?.typeId === 'number' && Array.isArray(data) && typeof nullCount === 'number';
}

/** The dtype of a type, or the type's own name, which no dtype has. */
function dtypeOf(type: ArrowType): DType {
  const { typeId, bitWidth, isSigned, precision = 0 } = type;
  if (typeId === Type.Int) return `${isSigned ? '' : 'u'}int${bitWidth}` as DType;
  return (typeId === Type.Float ? `float${16 << precision}` : String(type)) as DType;
}

/** A tensor over a bitmap of Arrow, with an element for each bit. A copy starts on a byte. */
function bits(bytes: unknown, { offset, length }: ArrowData, options?: AdaptOptions): Tensor {
  const isAdopted = options?.adopt && !options.copy;
  const whole = share(bytes, { dtype: 'uint1', shape: [offset + length] }, isAdopted ? options : undefined);
  const part = whole.slice([offset, offset + length]);
  whole.dispose();
  return options?.copy ? copyOf(part) : part;
}

function onlyChunk(vector: ArrowVector, options?: ArrowOptions): ArrowData {
  // An object of Arrow's class Data has no data of its own, and those of other libraries have no count of nulls.
  checkAdapt(vector, vector?.data && vector.nullCount, 'an Arrow Vector', options, {
    copy: 'boolean or null',
    gpuDevice: true,
    adopt: 'boolean',
    backend: true,
    nulls: true,
  });
  const { data } = vector;
  if (data.length === 1) return typed(data[0]);
  throw new BufferError('Expected one chunk; use new arrow.Vector([data]) for each of vector.data');
}

/** Throws unless `data` has a type. */
function typed(data?: ArrowData): ArrowData {
  checkAdapt(data, data?.type, 'Arrow Data');
  return data as ArrowData;
}

/** A tensor over the values of a vector. Booleans are bits (`'uint1'`), fixed-size lists are rows, also nested lists. */
export function fromArrow(vector: ArrowVector, options?: ArrowOptions): Tensor {
  const chunk = onlyChunk(vector, options);
  const shape = [chunk.length];
  let elements = chunk;
  let { nullCount } = chunk;
  for (; elements.type.typeId === Type.FixedSizeList; nullCount += elements.nullCount) {
    shape.push(elements.type.listSize as number);
    elements = typed(elements.children?.[0]);
  }
  if (nullCount > 0 && options?.nulls !== 'ignore') {
    throw new BufferError("Expected no nulls; pass { nulls: 'ignore' } and use arrowValidity()");
  }
  if (chunk.type.typeId === Type.Bool) return bits(chunk.values, chunk, options);
  const dtype = dtypeOf(elements.type);
  checkDType(dtype, arrayDTypes, 'DLPack');
  return share(elements.values, { shape, dtype }, options);
}

/**
 * Which elements of a vector are valid, as bits over its memory (1: valid); null when all are. For lists: which lists, or
 * if all lists are valid, which of their elements, on one axis.
 */
export function arrowValidity(vector: ArrowVector): Tensor | null {
  let chunk = onlyChunk(vector);
  while (chunk.nullCount === 0 && chunk.type.listSize) chunk = typed(chunk.children?.[0]);
  const { nullBitmap } = chunk;
  return chunk.nullCount === 0 || nullBitmap === null ? null : bits(nullBitmap, chunk);
}

/** A vector over the memory of a tensor, with fixed-size lists for each axis after the first: `toArrow(x, arrow)`. */
export function toArrow<V>(source: object, arrow: ArrowModule<V>, options?: LendOptions): V {
  return lend(
    source,
    arrayDTypes,
    'Arrow',
    arrow,
    'makeData',
    'use toArrow(x, arrow), with apache-arrow',
    options,
    (data, { dtype, ndim, shape }) => {
      if (!ndim) throw new LayoutError('Expected an axis for Arrow', shape);
      classNames[dtype] ??= (dtype[0] as string).toUpperCase() + dtype.slice(1);
      let type = new ((arrow as unknown as Classes)[classNames[dtype]] as Classes[string])();
      let chunk = arrow.makeData({ type, data } as never);
      for (let axis = ndim; --axis > 0; ) {
        type = new arrow.FixedSizeList(shape[axis] as number, new arrow.Field('item', type as never) as never);
        chunk = arrow.makeData({ type, child: chunk, length: sizeOf(shape.slice(0, axis)) } as never);
      }
      return new arrow.Vector([chunk] as never);
    },
  );
}
