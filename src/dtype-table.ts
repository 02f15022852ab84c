/**
 * The dtypes of DLPack. Written by "npm run dtypes" from scripts/dtypes/table.mjs; change it there.
 *
 * @module
 */

import { float16Array } from './base/float16.js';

/** `DLDataTypeCode` of dlpack.h: those of version 1.3 and, from 18 on, those that its main branch has added. */
export const TypeCode = {
  /** Signed integers. `kDLInt`. */
  int: 0,
  /** Unsigned integers. `kDLUInt`. */
  uint: 1,
  /** IEEE floats. `kDLFloat`. */
  float: 2,
  /** Pointers to something else. `kDLOpaqueHandle`. */
  handle: 3,
  /** bfloat16. `kDLBfloat`. */
  bfloat: 4,
  /** Complex numbers: two floats. `kDLComplex`. */
  complex: 5,
  /** Booleans. `kDLBool`. */
  bool: 6,
  /** `float8_e3m4`, by its exponent and mantissa bits. */
  float8_e3m4: 7,
  /** `float8_e4m3`, by its exponent and mantissa bits. */
  float8_e4m3: 8,
  /** `float8_e4m3b11fnuz`, by its exponent and mantissa bits. */
  float8_e4m3b11fnuz: 9,
  /** `float8_e4m3fn`, by its exponent and mantissa bits. */
  float8_e4m3fn: 10,
  /** `float8_e4m3fnuz`, by its exponent and mantissa bits. */
  float8_e4m3fnuz: 11,
  /** `float8_e5m2`, by its exponent and mantissa bits. */
  float8_e5m2: 12,
  /** `float8_e5m2fnuz`, by its exponent and mantissa bits. */
  float8_e5m2fnuz: 13,
  /** `float8_e8m0fnu`, by its exponent and mantissa bits. */
  float8_e8m0fnu: 14,
  /** `float6_e2m3fn`, by its exponent and mantissa bits. */
  float6_e2m3fn: 15,
  /** `float6_e3m2fn`, by its exponent and mantissa bits. */
  float6_e3m2fn: 16,
  /** `float4_e2m1fn`, by its exponent and mantissa bits. */
  float4_e2m1fn: 17,
  /** Complex numbers: two bfloat16. `kDLBcomplex`. */
  bcomplex: 18,
} as const;

/** Every base dtype: its type code, its bits, and the class of its typed arrays. */
export const baseTable = {
  bool: [TypeCode.bool, 8, Uint8Array],
  int1: [TypeCode.int, 1, Uint8Array],
  int2: [TypeCode.int, 2, Uint8Array],
  int4: [TypeCode.int, 4, Uint8Array],
  int8: [TypeCode.int, 8, Int8Array],
  int16: [TypeCode.int, 16, Int16Array],
  int32: [TypeCode.int, 32, Int32Array],
  int64: [TypeCode.int, 64, BigInt64Array],
  int128: [TypeCode.int, 128, Uint8Array],
  uint1: [TypeCode.uint, 1, Uint8Array],
  uint2: [TypeCode.uint, 2, Uint8Array],
  uint4: [TypeCode.uint, 4, Uint8Array],
  uint8: [TypeCode.uint, 8, Uint8Array],
  uint16: [TypeCode.uint, 16, Uint16Array],
  uint32: [TypeCode.uint, 32, Uint32Array],
  uint64: [TypeCode.uint, 64, BigUint64Array],
  uint128: [TypeCode.uint, 128, Uint8Array],
  float16: [TypeCode.float, 16, float16Array],
  float32: [TypeCode.float, 32, Float32Array],
  float64: [TypeCode.float, 64, Float64Array],
  float128: [TypeCode.float, 128, Uint8Array],
  bfloat16: [TypeCode.bfloat, 16, Uint16Array],
  complex32: [TypeCode.complex, 32, Uint16Array],
  complex64: [TypeCode.complex, 64, Float32Array],
  complex128: [TypeCode.complex, 128, Float64Array],
  bcomplex32: [TypeCode.bcomplex, 32, Uint16Array],
  float8_e3m4: [TypeCode.float8_e3m4, 8, Uint8Array],
  float8_e4m3: [TypeCode.float8_e4m3, 8, Uint8Array],
  float8_e4m3b11fnuz: [TypeCode.float8_e4m3b11fnuz, 8, Uint8Array],
  float8_e4m3fn: [TypeCode.float8_e4m3fn, 8, Uint8Array],
  float8_e4m3fnuz: [TypeCode.float8_e4m3fnuz, 8, Uint8Array],
  float8_e5m2: [TypeCode.float8_e5m2, 8, Uint8Array],
  float8_e5m2fnuz: [TypeCode.float8_e5m2fnuz, 8, Uint8Array],
  float8_e8m0fnu: [TypeCode.float8_e8m0fnu, 8, Uint8Array],
  float6_e2m3fn: [TypeCode.float6_e2m3fn, 6, Uint8Array],
  float6_e3m2fn: [TypeCode.float6_e3m2fn, 6, Uint8Array],
  float4_e2m1fn: [TypeCode.float4_e2m1fn, 4, Uint8Array],
  handle: [TypeCode.handle, 64, BigUint64Array],
} as const;

/** The small floats that one decoder and one encoder convert. */
export const smallFloats = {
  float16: { exponentBits: 5, mantissaBits: 10, bias: 15, specials: 'ieee' },
  bfloat16: { exponentBits: 8, mantissaBits: 7, bias: 127, specials: 'ieee' },
  float8_e3m4: { exponentBits: 3, mantissaBits: 4, bias: 3, specials: 'ieee' },
  float8_e4m3: { exponentBits: 4, mantissaBits: 3, bias: 7, specials: 'ieee' },
  float8_e4m3b11fnuz: { exponentBits: 4, mantissaBits: 3, bias: 11, specials: 'fnuz' },
  float8_e4m3fn: { exponentBits: 4, mantissaBits: 3, bias: 7, specials: 'fn' },
  float8_e4m3fnuz: { exponentBits: 4, mantissaBits: 3, bias: 8, specials: 'fnuz' },
  float8_e5m2: { exponentBits: 5, mantissaBits: 2, bias: 15, specials: 'ieee' },
  float8_e5m2fnuz: { exponentBits: 5, mantissaBits: 2, bias: 16, specials: 'fnuz' },
  float6_e2m3fn: { exponentBits: 2, mantissaBits: 3, bias: 1, specials: 'none' },
  float6_e3m2fn: { exponentBits: 3, mantissaBits: 2, bias: 3, specials: 'none' },
  float4_e2m1fn: { exponentBits: 2, mantissaBits: 1, bias: 1, specials: 'none' },
} as const;
