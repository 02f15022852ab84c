// The Python type of our tensors: __dlpack__, the exchange API table, the buffer protocol and the array interface.
#pragma once

#include "../descriptor.h"
#include "../storage.h"
#include "api.h"

namespace dlpack::python {

// Makes the type. GIL held; false with a Python exception set.
bool MakeTensorType();

// The type, once it was made. Borrowed.
Object* TensorType();

// A new Python tensor with its own reference to the storage. GIL held; NULL with a Python exception set.
Object* NewTensor(const Descriptor& descriptor, Storage* storage);

}  // namespace dlpack::python
