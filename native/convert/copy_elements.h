// A tensor's elements side by side in new memory. Any thread.
#ifndef DLPACK_NODE_CONVERT_COPY_ELEMENTS_H_
#define DLPACK_NODE_CONVERT_COPY_ELEMENTS_H_

#include "../abi/dlpack_abi.h"
#include "../storage.h"

namespace dlpack {

// Copies the elements of a tensor in host memory, row-major, into `nbytes` of new memory, which is what they need.
// `is_padded`: elements of fewer than eight bits have a byte each. NULL when out of memory.
Storage* CopyElements(const DLTensor& tensor, bool is_padded, uint64_t nbytes);

}  // namespace dlpack

#endif  // DLPACK_NODE_CONVERT_COPY_ELEMENTS_H_
