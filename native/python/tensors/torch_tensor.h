// PyTorch tensors, read through functions that PyTorch's libraries export. GIL held.
#pragma once

#include "consume.h"

namespace dlpack::python {

// Checks what PyTorch's exchange table omits: requires_grad, and the bits for a pending conjugation or negation. False,
// with a BufferError set, when the tensor cannot be exported as it is. `entry` belongs to the object's type.
bool CheckTorchBits(Object* object, TypeEntry* entry);

// Whether that check would let the tensor pass, without Python code and without an exception. False for an unknown
// class. After the first tensor of a class, no GIL needed.
bool IsPlainTorch(Object* object, TypeEntry* entry);

// Describes a tensor on the host as the exchange table does, but faster (docs/design/python.md): the table's
// function makes a C++ reference to the tensor, for which PyTorch takes the GIL twice more. kUnknown when the table
// must describe the tensor. The description points into the object.
enum class TorchMemory { kUnknown, kHost, kDevice };
TorchMemory DescribeTorch(Object* object, TypeEntry* entry, DLTensor* tensor);

// Remembers the dtype of a tensor that the table described, for the next tensors of the same class and dtype.
void LearnDType(Object* object, TypeEntry* entry, DLDataType dtype);

}  // namespace dlpack::python
