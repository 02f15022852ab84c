/**
 * Apache Arrow: vectors of numbers, and fixed-size lists of numbers as matrices.
 *
 * @module
 */

import type { DType, TypedArray } from '../dtype.js';
import { BufferError, LayoutError } from '../errors.js';
import { Tensor } from '../tensor.js';
import {
  type AdaptOptions,
  arrayTypes,
  checkAdapt,
  checkDType,
  copyIfAsked,
  type LendOptions,
  lend,
  share,
} from './share.js';

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
  readonly values: TypedArray;
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

type Classes = Record<string, new () => unknown>;

/** Arrow's class of each dtype, because building its name takes a tenth of an export. */
const classNames: Record<string, string> = {};

/** The numbers of Arrow's `Type`. */
const INT = 2;
const FLOAT = 3;
const BOOL = 6;
const LIST = 16;
export function isArrow(value: object): value is ArrowVector {
  const { type, data, nullCount } = value as ArrowVector;
  return typeof type?.typeId === 'number' && Array.isArray(data) && typeof nullCount === 'number';
}

/** The dtype of a type, or the type's own name, which no dtype has. */
function dtypeOf(type: ArrowType): DType {
  const { typeId, bitWidth, isSigned, precision = 0 } = type;
  if (typeId === INT) return `${isSigned ? '' : 'u'}int${bitWidth}` as DType;
  return (typeId === FLOAT ? `float${16 << precision}` : String(type)) as DType;
}

/** A tensor over a bitmap of Arrow, with an element for each bit. */
function bits(bytes: Uint8Array, { offset, length }: ArrowData): Tensor {
  const whole = Tensor.wrap(bytes, { dtype: 'uint1', shape: [offset + length] });
  const part = whole.slice([offset, offset + length]);
  whole.dispose();
  return part;
}

function onlyChunk({ data }: ArrowVector): ArrowData {
  if (data.length === 1) return data[0] as ArrowData;
  throw new BufferError('Expected a vector of one chunk; use Tensor.from(vector.toArray())');
}

/** A tensor over the values of a vector. Booleans are bits (`'uint1'`), fixed-size lists are rows. */
export function fromArrow(vector: ArrowVector, options?: ArrowOptions): Tensor {
  checkAdapt(options, { nulls: true });
  const chunk = onlyChunk(vector);
  const { type, length } = chunk;
  const isList = type.typeId === LIST;
  const elements = isList ? (chunk.children[0] as ArrowData) : chunk;
  if (chunk.nullCount + elements.nullCount > 0 && options?.nulls !== 'ignore') {
    throw new BufferError("Expected no nulls; pass { nulls: 'ignore' } and read arrowValidity(vector)");
  }
  if (type.typeId === BOOL) {
    if (options?.adopt === true) throw new BufferError('Expected whole bytes for adopt; use { copy: true }');
    const shared = bits(chunk.values as Uint8Array, chunk);
    return copyIfAsked(shared, options);
  }
  const shape = isList ? [length, type.listSize as number] : [length];
  const dtype = dtypeOf(elements.type);
  checkDType(dtype, arrayTypes, 'Arrow vectors');
  return share(elements.values.subarray(0, length * (shape[1] ?? 1)), shape, options, { dtype });
}

/** Which elements of a vector are valid, as bits over its memory (1: valid); null when all are. */
export function arrowValidity(vector: ArrowVector): Tensor | null {
  const chunk = onlyChunk(vector);
  const { nullBitmap } = chunk;
  return chunk.nullCount === 0 || nullBitmap === null ? null : bits(nullBitmap, chunk);
}

/** A vector over the memory of a tensor with one axis, or of fixed-size lists for two: `toArrow(x, arrow)`. */
export function toArrow<V>(source: object, arrow: ArrowModule<V>, options?: LendOptions): V {
  const { array, tensor } = lend(source, arrayTypes, 'Arrow', options);
  const [length = 0, columns] = tensor.shape;
  if (tensor.ndim < 1 || tensor.ndim > 2) {
    throw new LayoutError('Expected one or two axes for Arrow', tensor.shape);
  }
  const { dtype } = tensor;
  classNames[dtype] ??= dtype.charAt(0).toUpperCase() + dtype.slice(1);
  const type = new ((arrow as unknown as Classes)[classNames[dtype]] as Classes[string])();
  const elements = arrow.makeData({ type, data: array } as never);
  if (columns === undefined) return new arrow.Vector([elements] as never);
  const list = new arrow.FixedSizeList(columns, new arrow.Field('item', type as never) as never);
  return new arrow.Vector([arrow.makeData({ type: list, child: elements, length } as never)] as never);
}
