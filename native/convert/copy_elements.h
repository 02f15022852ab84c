// Copies a tensor's elements into new contiguous memory. Any thread.
#pragma once

#include "../abi/dlpack_abi.h"
#include "../storage.h"

namespace dlpack {

// Copies the elements of a tensor in host memory, in row-major order, into new memory of `nbytes` bytes, their exact
// size. `is_padded`: elements of fewer than eight bits take a byte each. NULL when out of memory.
Storage* CopyElements(const DLTensor& tensor, bool is_padded, uint64_t nbytes);

}  // namespace dlpack
