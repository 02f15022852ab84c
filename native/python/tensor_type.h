// The Python type of our tensors: __dlpack__, the exchange API table, the buffer protocol and the array interface.
#ifndef DLPACK_NODE_PYTHON_TENSOR_TYPE_H_
#define DLPACK_NODE_PYTHON_TENSOR_TYPE_H_

#include "../descriptor.h"
#include "../storage.h"
#include "api.h"

namespace dlpack {
namespace python {

// Makes the type. GIL held; false with a Python exception set.
bool MakeTensorType();

// The type, once it was made. Borrowed.
Object* TensorType();

// A new Python tensor with its own reference to the storage. GIL held; NULL with a Python exception set.
Object* NewTensor(const Descriptor& descriptor, Storage* storage);

}  // namespace python
}  // namespace dlpack

#endif  // DLPACK_NODE_PYTHON_TENSOR_TYPE_H_
