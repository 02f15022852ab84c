/** The exchanged tensors: dtypes with values that each can hold, and layouts, as tables. */

import type { DType } from '../../dtype.js';
import type { TensorView } from '../../view.js';

/** An element on either side of a comparison: a number, or the parts of a complex one. */
export type Value = number | readonly [number, number];

export interface DTypeRow {
  readonly name: DType;
  readonly code: number;
  readonly bits: number;
  readonly lanes: number;
}

const rows: readonly (readonly [DType, number, number, number?])[] = [
  ['bool', 6, 8],
  ['int8', 0, 8],
  ['int16', 0, 16],
  ['int32', 0, 32],
  ['int64', 0, 64],
  ['uint8', 1, 8],
  ['uint16', 1, 16],
  ['uint32', 1, 32],
  ['uint64', 1, 64],
  ['float16', 2, 16],
  ['float32', 2, 32],
  ['float64', 2, 64],
  ['complex64', 5, 64],
  ['complex128', 5, 128],
  ['bfloat16', 4, 16],
  ['complex32', 5, 32],
  ['bcomplex32', 18, 32],
  ['float8_e3m4', 7, 8],
  ['float8_e4m3', 8, 8],
  ['float8_e4m3b11fnuz', 9, 8],
  ['float8_e4m3fn', 10, 8],
  ['float8_e4m3fnuz', 11, 8],
  ['float8_e5m2', 12, 8],
  ['float8_e5m2fnuz', 13, 8],
  ['float8_e8m0fnu', 14, 8],
  ['float6_e2m3fn', 15, 6],
  ['float6_e3m2fn', 16, 6],
  ['float4_e2m1fn', 17, 4],
  ['float4_e2m1fnx2', 17, 4, 2],
  ['int4', 0, 4],
  ['uint4', 1, 4],
];

export const dtypes: readonly DTypeRow[] = rows.map(([name, code, bits, lanes = 1]) => ({ name, code, bits, lanes }));
export const isPacked = ({ bits, lanes }: DTypeRow): boolean => (bits * lanes) % 8 !== 0;

/** Elements of memory under every layout. */
export const LENGTH = 24;

/** The value of the element at a place in memory: neighbours differ, and every dtype holds its own exactly. */
export function valueAt({ name }: DTypeRow, place: number): Value {
  const scattered = (place * place + (place >> 1)) % 3;
  if (name === 'bool') return scattered === 1 ? 0 : 1;
  if (/float[468]_|int4/.test(name)) return [1, 2, 4][scattered] as number;
  const size = place + 1;
  const value = /^uint|^bool/.test(name) || place % 2 === 0 ? size : -size;
  if (/^b?complex/.test(name)) return [value, size + 1];
  return /float/.test(name) ? value + 0.5 : value;
}

/** A value that is not this one. */
export function otherValue({ name }: DTypeRow, than: Value): Value {
  if (typeof than !== 'number') return [than[0] + 1, than[1]];
  if (name === 'bool') return 1 - than;
  return than === 1 ? 2 : 1;
}

export interface LayoutRow {
  readonly name: string;
  readonly shape: readonly number[];
  readonly strides: readonly number[];
  /** The first element's place in memory. */
  readonly offset: number;
  /** For packed dtypes too: elements without gaps from a whole byte on. */
  readonly isCompact: boolean;
  /** The same with this package's methods; absent if no method does it. */
  readonly derive?: (base: TensorView) => TensorView;
}

const deep = [...new Array<number>(38).fill(1), 2, 3];

export const layouts: readonly LayoutRow[] = [
  {
    name: 'vector',
    shape: [6],
    strides: [1],
    offset: 0,
    isCompact: true,
    derive: (t) => t.slice([0, 6]),
  },
  {
    name: 'matrix',
    shape: [2, 3],
    strides: [3, 1],
    offset: 0,
    isCompact: true,
    derive: (t) => t.slice([0, 6]).reshape([2, 3]),
  },
  {
    name: 'cube',
    shape: [2, 3, 4],
    strides: [12, 4, 1],
    offset: 0,
    isCompact: true,
    derive: (t) => t.reshape([2, 3, 4]),
  },
  { name: 'no axes', shape: [], strides: [], offset: 0, isCompact: true, derive: (t) => t.slice(0) },
  {
    name: 'no elements',
    shape: [0, 3],
    strides: [3, 1],
    offset: 0,
    isCompact: true,
    derive: (t) => t.slice([0, 0]).reshape([0, 3]),
  },
  {
    name: '40 axes',
    shape: deep,
    strides: [...new Array<number>(38).fill(6), 3, 1],
    offset: 0,
    isCompact: true,
    derive: (t) => t.slice([0, 6]).reshape(deep),
  },
  { name: 'odd strides of axes of one', shape: [1, 3, 1], strides: [7, 1, 5], offset: 0, isCompact: false },
  {
    name: 'offset',
    shape: [2, 3],
    strides: [3, 1],
    offset: 5,
    isCompact: false,
    derive: (t) => t.slice([5, 11]).reshape([2, 3]),
  },
  {
    name: 'transposed',
    shape: [3, 2],
    strides: [1, 3],
    offset: 0,
    isCompact: false,
    derive: (t) => t.slice([0, 6]).reshape([2, 3]).transpose(),
  },
  {
    name: 'gaps',
    shape: [2, 2],
    strides: [12, 2],
    offset: 0,
    isCompact: false,
    derive: (t) => t.reshape([2, 12]).slice(null, [0, 4, 2]),
  },
  {
    name: 'negative stride',
    shape: [3],
    strides: [-1],
    offset: 2,
    isCompact: false,
    derive: (t) => t.slice([0, 3]).flip(),
  },
  {
    name: 'stride of zero',
    shape: [2, 3],
    strides: [0, 1],
    offset: 0,
    isCompact: false,
    derive: (t) => t.slice([0, 3]).broadcastTo([2, 3]),
  },
  { name: 'overlapping', shape: [3, 2], strides: [1, 1], offset: 0, isCompact: false },
];

/** Places in memory of the elements, in row-major order. */
export function placesOf({ shape, strides, offset }: LayoutRow): number[] {
  let places = [offset];
  shape.forEach((length, axis) => {
    const step = strides[axis] as number;
    places = places.flatMap((at) => Array.from({ length }, (_, i) => at + i * step));
  });
  return places;
}

/** The expected elements of a layout in row-major order; for a dtype with lanes, the lanes one after the other. */
export function valuesOf(dtype: DTypeRow, layout: LayoutRow): Value[] {
  const lanes = Array.from({ length: dtype.lanes }, (_, lane) => lane);
  return placesOf(layout).flatMap((at) => lanes.map((lane) => valueAt(dtype, at * dtype.lanes + lane)));
}
