// What PyTorch's exchange table does not look at: requires_grad, and the bits for conjugates and signs not applied yet.
#ifndef DLPACK_NODE_PYTHON_TORCH_BITS_H_
#define DLPACK_NODE_PYTHON_TORCH_BITS_H_

#include "../abi/dlpack_abi.h"
#include "api.h"

namespace dlpack {
namespace python {

// False with a BufferError set when the values are not what the memory says. `managed` is what the table exported, or
// NULL; `is_neg` the method of the object's type. GIL held.
bool CheckTorchBits(Object* object, Object* is_neg, const DLManagedTensorVersioned* managed);

}  // namespace python
}  // namespace dlpack

#endif  // DLPACK_NODE_PYTHON_TORCH_BITS_H_
