// CheckedLayout: everything about a tensor that JavaScript sent, except its memory. JavaScript numbers the layouts that
// it sends, and native code keeps the last few. JavaScript leaves out a layout that native code keeps, and native code
// then checks only that the elements lie inside the memory. docs/decisions/checked-layouts.md has the figures.
// JavaScript thread only.
#pragma once

#include "managed_tensor.h"

namespace dlpack {

struct CheckedLayout {
  uint32_t number;  // 0: none
  Reach reach;
  Descriptor descriptor;  // its offset and trace are those of the tensor that was read last
};

}  // namespace dlpack
