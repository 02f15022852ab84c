// TensorSignature: everything about the last import except its memory. Most imports are like the import before. Then
// only the pointer is checked, and JavaScript uses the same shape and strides arrays again. Measured on two axes: the
// import and release of a foreign tensor takes 117 ns with signatures and 157 ns without; of our own tensor with four
// axes, 95 and 154 ns. JavaScript thread only.
#pragma once

#include "descriptor.h"

namespace dlpack {

// The bytes that the elements of a tensor touch, relative to the first element.
struct Reach {
  int64_t low;  // zero or less
  int64_t high;
  bool is_empty;
};

struct TensorSignature {
  uint32_t number;     // 0: none yet; changes with each import that differs from the previous import
  bool is_comparable;  // it has few axes
  bool has_strides;    // the producer gave strides
  uint64_t flags;
  Reach reach;
  Descriptor descriptor;
};

}  // namespace dlpack
