// The dtypes of DLPack: the one table, from which `npm run dtypes` writes those of TypeScript, C++ and Python.

/** Type codes, in the order of their numbers, and what they mean. The names of small floats say it. */
export const codes = {
  int: 'Signed integers. `kDLInt`.',
  uint: 'Unsigned integers. `kDLUInt`.',
  float: 'IEEE floats. `kDLFloat`.',
  handle: 'Pointers to something else. `kDLOpaqueHandle`.',
  bfloat: 'bfloat16. `kDLBfloat`.',
  complex: 'Complex numbers: two floats. `kDLComplex`.',
  bool: 'Booleans. `kDLBool`.',
  float8_e3m4: null,
  float8_e4m3: null,
  float8_e4m3b11fnuz: null,
  float8_e4m3fn: null,
  float8_e4m3fnuz: null,
  float8_e5m2: null,
  float8_e5m2fnuz: null,
  float8_e8m0fnu: null,
  float6_e2m3fn: null,
  float6_e3m2fn: null,
  float4_e2m1fn: null,
  bcomplex: 'Complex numbers: two bfloat16. `kDLBcomplex`.',
};

/**
 * Each dtype: its name, its type code, its bits, and the class of its typed arrays in JavaScript.
 *
 * - `numpy`: the number of NPY_TYPES and the format of Python's struct module, if NumPy has the dtype. `long` is the number
 *   of a C type with 64 bits, which differs between systems.
 * - `small`: exponent bits, mantissa bits, bias, and the special values of a small float (values/minifloat.ts).
 */
export const dtypes = [
  ['bool', 'bool', 8, 'Uint8Array', { numpy: [0, '?'] }],
  ['int1', 'int', 1, 'Uint8Array'],
  ['int2', 'int', 2, 'Uint8Array'],
  ['int4', 'int', 4, 'Uint8Array'],
  ['int8', 'int', 8, 'Int8Array', { numpy: [1, 'b'] }],
  ['int16', 'int', 16, 'Int16Array', { numpy: [3, 'h'] }],
  ['int32', 'int', 32, 'Int32Array', { numpy: [5, 'i'] }],
  ['int64', 'int', 64, 'BigInt64Array', { numpy: ['kLong', 'q'] }],
  ['int128', 'int', 128, 'Uint8Array'],
  ['uint1', 'uint', 1, 'Uint8Array'],
  ['uint2', 'uint', 2, 'Uint8Array'],
  ['uint4', 'uint', 4, 'Uint8Array'],
  ['uint8', 'uint', 8, 'Uint8Array', { numpy: [2, 'B'] }],
  ['uint16', 'uint', 16, 'Uint16Array', { numpy: [4, 'H'] }],
  ['uint32', 'uint', 32, 'Uint32Array', { numpy: [6, 'I'] }],
  ['uint64', 'uint', 64, 'BigUint64Array', { numpy: ['kLong + 1', 'Q'] }],
  ['uint128', 'uint', 128, 'Uint8Array'],
  ['float16', 'float', 16, 'float16Array', { numpy: [23, 'e'], small: [5, 10, 15, 'ieee'] }],
  ['float32', 'float', 32, 'Float32Array', { numpy: [11, 'f'] }],
  ['float64', 'float', 64, 'Float64Array', { numpy: [12, 'd'] }],
  ['float128', 'float', 128, 'Uint8Array'],
  ['bfloat16', 'bfloat', 16, 'Uint16Array', { small: [8, 7, 127, 'ieee'] }],
  ['complex32', 'complex', 32, 'Uint16Array'],
  ['complex64', 'complex', 64, 'Float32Array', { numpy: [14, 'Zf'] }],
  ['complex128', 'complex', 128, 'Float64Array', { numpy: [15, 'Zd'] }],
  ['bcomplex32', 'bcomplex', 32, 'Uint16Array'],
  ['float8_e3m4', 'float8_e3m4', 8, 'Uint8Array', { small: [3, 4, 3, 'ieee'] }],
  ['float8_e4m3', 'float8_e4m3', 8, 'Uint8Array', { small: [4, 3, 7, 'ieee'] }],
  ['float8_e4m3b11fnuz', 'float8_e4m3b11fnuz', 8, 'Uint8Array', { small: [4, 3, 11, 'fnuz'] }],
  ['float8_e4m3fn', 'float8_e4m3fn', 8, 'Uint8Array', { small: [4, 3, 7, 'fn'] }],
  ['float8_e4m3fnuz', 'float8_e4m3fnuz', 8, 'Uint8Array', { small: [4, 3, 8, 'fnuz'] }],
  ['float8_e5m2', 'float8_e5m2', 8, 'Uint8Array', { small: [5, 2, 15, 'ieee'] }],
  ['float8_e5m2fnuz', 'float8_e5m2fnuz', 8, 'Uint8Array', { small: [5, 2, 16, 'fnuz'] }],
  ['float8_e8m0fnu', 'float8_e8m0fnu', 8, 'Uint8Array'],
  ['float6_e2m3fn', 'float6_e2m3fn', 6, 'Uint8Array', { small: [2, 3, 1, 'none'] }],
  ['float6_e3m2fn', 'float6_e3m2fn', 6, 'Uint8Array', { small: [3, 2, 3, 'none'] }],
  ['float4_e2m1fn', 'float4_e2m1fn', 4, 'Uint8Array', { small: [2, 1, 1, 'none'] }],
  ['handle', 'handle', 64, 'BigUint64Array'],
].map(([name, code, bits, array, { numpy = null, small = null } = {}]) => ({ name, code, bits, array, numpy, small }));
