// The scalar types that values are converted between. Any thread.
#pragma once

#include <stdint.h>

#include "../dtype_table.h"

namespace dlpack {

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
