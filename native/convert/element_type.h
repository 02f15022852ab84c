// The scalar types that values are converted between. Any thread.
#pragma once

#include <stdint.h>

namespace dlpack {

// name, DLDataTypeCode, bits
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

enum ElementType : int32_t {
#define X(name, code, bits) k##name,
  DLPACK_ELEMENT_TYPES(X)
#undef X
      kElementTypes,
  kRaw,  // only copied, never converted: complex numbers, 128 bits
};

inline ElementType ElementTypeOf(uint32_t code, uint32_t bits) {
#define X(name, c, b) \
  if (code == c && bits == b) return k##name;
  DLPACK_ELEMENT_TYPES(X)
#undef X
  return kRaw;
}

}  // namespace dlpack
