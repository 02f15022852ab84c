// Checks that PyTorch's exchange table omits: requires_grad, and the bits for a pending conjugation or negation.
#ifndef DLPACK_NODE_PYTHON_TORCH_BITS_H_
#define DLPACK_NODE_PYTHON_TORCH_BITS_H_

#include "../abi/dlpack_abi.h"
#include "api.h"

namespace dlpack {
namespace python {

// False, with a BufferError set, when the tensor cannot be exported as it is. `managed` is the tensor that the table
// exported, or NULL; `is_neg` is the method of the object's type. GIL held.
bool CheckTorchBits(Object* object, Object* is_neg, const DLManagedTensorVersioned* managed);

}  // namespace python
}  // namespace dlpack

#endif  // DLPACK_NODE_PYTHON_TORCH_BITS_H_
