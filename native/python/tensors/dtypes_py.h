// Written by "npm run embed" from dtypes.py; change it there.
#ifndef DLPACK_NODE_PYTHON_TENSORS_DTYPES_PY_H_
#define DLPACK_NODE_PYTHON_TENSORS_DTYPES_PY_H_

static const char kDtypesPy[] = R"python(
# The dtypes of DLPack. Written by "npm run dtypes" from scripts/dtypes/table.mjs; change it there.

# By type code and bits: how ml_dtypes names the dtypes that NumPy does not have.
ML_DTYPES = {
    (0, 1): 'int1',
    (0, 2): 'int2',
    (0, 4): 'int4',
    (1, 1): 'uint1',
    (1, 2): 'uint2',
    (1, 4): 'uint4',
    (4, 16): 'bfloat16',
    (5, 32): 'complex32',
    (18, 32): 'bcomplex32',
    (7, 8): 'float8_e3m4',
    (8, 8): 'float8_e4m3',
    (9, 8): 'float8_e4m3b11fnuz',
    (10, 8): 'float8_e4m3fn',
    (11, 8): 'float8_e4m3fnuz',
    (12, 8): 'float8_e5m2',
    (13, 8): 'float8_e5m2fnuz',
    (14, 8): 'float8_e8m0fnu',
    (15, 6): 'float6_e2m3fn',
    (16, 6): 'float6_e3m2fn',
    (17, 4): 'float4_e2m1fn',
}
# The type strings of the dtypes that NumPy has, in the order of dtype_table.h.
NUMPY_TYPES = 'b1 i1 i2 i4 i8 u1 u2 u4 u8 f2 f4 f8 c8 c16'.split()
)python";

#endif  // DLPACK_NODE_PYTHON_TENSORS_DTYPES_PY_H_
