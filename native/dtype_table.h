// The dtypes of DLPack. Written by "npm run dtypes" from scripts/dtypes/table.mjs; change it there.
#pragma once

// Every dtype: DLDataTypeCode, bits.
#define DLPACK_DTYPES(X) \
  X(6, 8)                \
  X(0, 1)                \
  X(0, 2)                \
  X(0, 4)                \
  X(0, 8)                \
  X(0, 16)               \
  X(0, 32)               \
  X(0, 64)               \
  X(0, 128)              \
  X(1, 1)                \
  X(1, 2)                \
  X(1, 4)                \
  X(1, 8)                \
  X(1, 16)               \
  X(1, 32)               \
  X(1, 64)               \
  X(1, 128)              \
  X(2, 16)               \
  X(2, 32)               \
  X(2, 64)               \
  X(2, 128)              \
  X(4, 16)               \
  X(5, 32)               \
  X(5, 64)               \
  X(5, 128)              \
  X(18, 32)              \
  X(7, 8)                \
  X(8, 8)                \
  X(9, 8)                \
  X(10, 8)               \
  X(11, 8)               \
  X(12, 8)               \
  X(13, 8)               \
  X(14, 8)               \
  X(15, 6)               \
  X(16, 6)               \
  X(17, 4)               \
  X(3, 64)

// The types that values are converted between: name, DLDataTypeCode, bits.
#define DLPACK_ELEMENT_TYPES(X) \
  X(Bool, 6, 8)                 \
  X(Int1, 0, 1)                 \
  X(Int2, 0, 2)                 \
  X(Int4, 0, 4)                 \
  X(Int8, 0, 8)                 \
  X(Int16, 0, 16)               \
  X(Int32, 0, 32)               \
  X(Int64, 0, 64)               \
  X(UInt1, 1, 1)                \
  X(UInt2, 1, 2)                \
  X(UInt4, 1, 4)                \
  X(UInt8, 1, 8)                \
  X(UInt16, 1, 16)              \
  X(UInt32, 1, 32)              \
  X(UInt64, 1, 64)              \
  X(Handle, 3, 64)              \
  X(Float16, 2, 16)             \
  X(Float32, 2, 32)             \
  X(Float64, 2, 64)             \
  X(BFloat16, 4, 16)            \
  X(E3M4, 7, 8)                 \
  X(E4M3, 8, 8)                 \
  X(E4M3B11FNUZ, 9, 8)          \
  X(E4M3FN, 10, 8)              \
  X(E4M3FNUZ, 11, 8)            \
  X(E5M2, 12, 8)                \
  X(E5M2FNUZ, 13, 8)            \
  X(E8M0FNU, 14, 8)             \
  X(E2M3FN, 15, 6)              \
  X(E3M2FN, 16, 6)              \
  X(E2M1FN, 17, 4)

// Floats of at most a byte: name, exponent bits, mantissa bits, bias, special values.
#define DLPACK_SMALL_FLOATS(X)    \
  X(E3M4, 3, 4, 3, kIeee)         \
  X(E4M3, 4, 3, 7, kIeee)         \
  X(E4M3B11FNUZ, 4, 3, 11, kFnuz) \
  X(E4M3FN, 4, 3, 7, kFn)         \
  X(E4M3FNUZ, 4, 3, 8, kFnuz)     \
  X(E5M2, 5, 2, 15, kIeee)        \
  X(E5M2FNUZ, 5, 2, 16, kFnuz)    \
  X(E2M3FN, 2, 3, 1, kNone)       \
  X(E3M2FN, 3, 2, 3, kNone)       \
  X(E2M1FN, 2, 1, 1, kNone)

// The dtypes that NumPy and CuPy have: DLDataTypeCode, bits, the number of NPY_TYPES, the format of the struct module.
#define DLPACK_NUMPY_DTYPES(X) \
  X(6, 8, 0, "?")              \
  X(0, 8, 1, "b")              \
  X(0, 16, 3, "h")             \
  X(0, 32, 5, "i")             \
  X(0, 64, kLong, "q")         \
  X(1, 8, 2, "B")              \
  X(1, 16, 4, "H")             \
  X(1, 32, 6, "I")             \
  X(1, 64, kLong + 1, "Q")     \
  X(2, 16, 23, "e")            \
  X(2, 32, 11, "f")            \
  X(2, 64, 12, "d")            \
  X(5, 64, 14, "Zf")           \
  X(5, 128, 15, "Zd")
