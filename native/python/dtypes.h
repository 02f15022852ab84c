// The dtypes that NumPy, CuPy and the struct module have, and what they call them.
#pragma once

#include "../abi/dlpack_abi.h"

namespace dlpack::python {

struct KnownDType {
  uint8_t code;
  uint8_t bits;
  int number;          // NPY_TYPES
  const char* format;  // of the struct module
};
const int kLong = sizeof(long) == 8 ? 7 : 9;  // NPY_LONG, or NPY_LONGLONG where a long has 32 bits
const KnownDType kDTypes[] = {{0, 8, 1, "b"},     {0, 16, 3, "h"},  {0, 32, 5, "i"},  {0, 64, kLong, "q"},
                              {1, 8, 2, "B"},     {1, 16, 4, "H"},  {1, 32, 6, "I"},  {1, 64, kLong + 1, "Q"},
                              {2, 16, 23, "e"},   {2, 32, 11, "f"}, {2, 64, 12, "d"}, {5, 64, 14, "Zf"},
                              {5, 128, 15, "Zd"}, {6, 8, 0, "?"}};
const int kDTypeCount = sizeof(kDTypes) / sizeof(kDTypes[0]);

// The index in kDTypes; -1 for another dtype.
inline int FindDType(const DLDataType& dtype) {
  // By code, and the logarithm of the number of bytes.
  static const int8_t kIndices[7][5] = {{0, 1, 2, 3, -1},     {4, 5, 6, 7, -1},     {-1, 8, 9, 10, -1},
                                        {-1, -1, -1, -1, -1}, {-1, -1, -1, -1, -1}, {-1, -1, -1, 11, 12},
                                        {13, -1, -1, -1, -1}};
  const int bits = dtype.bits;
  const bool is_whole = bits >= 8 && bits <= 128 && (bits & (bits - 1)) == 0;
  return is_whole && dtype.code < 7 && dtype.lanes == 1 ? kIndices[dtype.code][__builtin_ctz(bits) - 3] : -1;
}

}  // namespace dlpack::python
