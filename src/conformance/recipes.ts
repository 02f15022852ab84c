/** The tensors that the cases exchange: for each a dtype, a shape and the bytes of its elements. */

import type { DLDataType } from '../dtype.js';

/** A tensor to make: its elements lie in `bytes` in row-major order without gaps. */
export interface Recipe {
  /** The name in the ids of cases. */
  readonly name: string;
  /** The element type. */
  readonly dtype: DLDataType;
  /** The lengths of the axes. */
  readonly shape: readonly number[];
  /** The elements. */
  readonly bytes: Uint8Array;
  /** Elements narrower than a byte occupy a byte each (the flag IS_SUBBYTE_TYPE_PADDED). */
  readonly isPadded: boolean;
}

export const countOf = (shape: readonly number[]): number => shape.reduce((count, length) => count * length, 1);

/** Bits from one element to the next. */
export function widthOf({ bits, lanes }: DLDataType, isPadded: boolean): number {
  return isPadded ? Math.ceil((bits * lanes) / 8) * 8 : bits * lanes;
}

/** Elements that every dtype holds exactly: no bit pattern is a NaN, because engines may change those. */
function makeBytes(dtype: DLDataType, shape: readonly number[], isPadded: boolean): Uint8Array {
  const length = Math.ceil((countOf(shape) * widthOf(dtype, isPadded)) / 8);
  const mask = isPadded ? (1 << dtype.bits) - 1 : 0x3f;
  const isBool = dtype.code === 6;
  return Uint8Array.from({ length }, (_, i) => (isBool ? Number(i % 3 !== 1) : (37 * i + 11) & mask));
}

const recipe = (
  name: string,
  code: number,
  bits: number,
  shape: readonly number[],
  { lanes = 1, isPadded = false } = {},
): Recipe => {
  const dtype = { code, bits, lanes };
  return { name, dtype, shape, isPadded, bytes: makeBytes(dtype, shape, isPadded) };
};

const matrixShape = [2, 3];

export const recipes: readonly Recipe[] = [
  recipe('f32', 2, 32, matrixShape),
  recipe('scalar', 2, 32, []),
  recipe('empty', 2, 32, [0, 3]),
  recipe('ones', 2, 32, [1, 3, 1]),
  recipe('f64', 2, 64, matrixShape),
  recipe('f16', 2, 16, matrixShape),
  recipe('bf16', 4, 16, matrixShape),
  recipe('i8', 0, 8, matrixShape),
  recipe('i16', 0, 16, matrixShape),
  recipe('i32', 0, 32, matrixShape),
  recipe('i64', 0, 64, matrixShape),
  recipe('u8', 1, 8, matrixShape),
  recipe('u16', 1, 16, matrixShape),
  recipe('u32', 1, 32, matrixShape),
  recipe('u64', 1, 64, matrixShape),
  recipe('bool', 6, 8, matrixShape),
  recipe('c64', 5, 64, matrixShape),
  recipe('c128', 5, 128, matrixShape),
  recipe('f8', 10, 8, matrixShape),
  recipe('f6', 15, 6, [4]),
  recipe('f4', 17, 4, [2, 4]),
  recipe('i4', 0, 4, [2, 4]),
  recipe('i2', 0, 2, [2, 4]),
  recipe('u1', 1, 1, [2, 8]),
  recipe('i4_padded', 0, 4, matrixShape, { isPadded: true }),
  recipe('f32x4', 2, 32, [3], { lanes: 4 }),
];

/** Two rows of three float32: what a case uses if any tensor will do. */
export const matrix = recipes[0] as Recipe;
