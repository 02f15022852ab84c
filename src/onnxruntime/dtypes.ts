/** The element types of ONNX, by their numbers in ONNX Runtime's C API. */

import { type DType, type DTypeInfo, parseDType } from '../dtype.js';
import { UnsupportedDTypeError } from '../errors.js';

/** The number of strings. */
export const STRINGS = 8;

/** The position is the number. A string has no dtype. */
const names: readonly (DType | null)[] = [
  null,
  'float32',
  'uint8',
  'int8',
  'uint16',
  'int16',
  'int32',
  'int64',
  null,
  'bool',
  'float16',
  'float64',
  'uint32',
  'uint64',
  'complex64',
  'complex128',
  'bfloat16',
  'float8_e4m3fn',
  'float8_e4m3fnuz',
  'float8_e5m2',
  'float8_e5m2fnuz',
  'uint4',
  'int4',
  'float4_e2m1fn',
  'uint2',
  'int2',
  'float8_e8m0fnu',
];

/** The dtype of a number; null for strings and for numbers of the future. */
export function dtypeOf(code: number): DTypeInfo | null {
  const name = names[code];
  return name == null ? null : parseDType(name);
}

/** The number of a dtype. */
export function codeOf(dtype: DTypeInfo, what: string): number {
  const code = names.indexOf(dtype.name);
  if (code > 0) return code;
  throw new UnsupportedDTypeError(
    dtype.name,
    `Expected a dtype that ONNX has for ${what} but received ${dtype.name}; convert it with astype()`,
  );
}
