// Checks that PyTorch's exchange table omits: requires_grad, and the bits for a pending conjugation or negation.
#pragma once

#include "consume.h"

namespace dlpack::python {

// False, with a BufferError set, when the tensor cannot be exported as it is. `entry` belongs to the object's type. GIL
// held.
bool CheckTorchBits(Object* object, TypeEntry* entry);

}  // namespace dlpack::python
