// The dtypes that NumPy, CuPy and the struct module have, and what they call them.
#pragma once

#include "../../abi/dlpack_abi.h"
#include "../../dtype_table.h"

namespace dlpack::python {

struct KnownDType {
  uint8_t code;
  uint8_t bits;
  int number;          // NPY_TYPES
  const char* format;  // of the struct module
};
// NumPy's int64 is a C long, or a long long where a long has 32 bits. Some libraries do not know the other one.
constexpr bool kLongHas64 = sizeof(long) == 8;
constexpr int kLong = kLongHas64 ? 7 : 9;  // NPY_LONG, NPY_LONGLONG
constexpr const char* FormatOf(const char* format) {
  return !kLongHas64 ? format : *format == 'q' ? "l" : *format == 'Q' ? "L" : format;
}
constexpr KnownDType kDTypes[] = {
#define X(code, bits, number, format) {code, bits, number, FormatOf(format)},
    DLPACK_NUMPY_DTYPES(X)
#undef X
};
const int kDTypeCount = sizeof(kDTypes) / sizeof(kDTypes[0]);

// The logarithm of the bytes of an element.
constexpr int WidthOf(int bits) { return bits <= 8 ? 0 : 1 + WidthOf(bits / 2); }

// Indices in kDTypes by code and width; -1 for other dtypes.
struct DTypeIndices {
  int8_t of[7][5];
  constexpr DTypeIndices() : of() {
    for (auto& row : of) {
      for (int8_t& index : row) index = -1;
    }
    for (int i = 0; i < kDTypeCount; ++i) of[kDTypes[i].code][WidthOf(kDTypes[i].bits)] = static_cast<int8_t>(i);
  }
};

// The index in kDTypes; -1 for another dtype.
inline int FindDType(const DLDataType& dtype) {
  static constexpr DTypeIndices kIndices;
  const int bits = dtype.bits;
  const bool is_whole = bits >= 8 && bits <= 128 && (bits & (bits - 1)) == 0;
  return is_whole && dtype.code < 7 && dtype.lanes == 1 ? kIndices.of[dtype.code][__builtin_ctz(bits) - 3] : -1;
}

}  // namespace dlpack::python
