// Checks that PyTorch's exchange table omits: requires_grad, and the bits for a pending conjugation or negation.
#ifndef DLPACK_NODE_PYTHON_TORCH_BITS_H_
#define DLPACK_NODE_PYTHON_TORCH_BITS_H_

#include "consume.h"

namespace dlpack {
namespace python {

// False, with a BufferError set, when the tensor cannot be exported as it is. `entry` belongs to the object's type. GIL
// held.
bool CheckTorchBits(Object* object, TypeEntry* entry);

}  // namespace python
}  // namespace dlpack

#endif  // DLPACK_NODE_PYTHON_TORCH_BITS_H_
