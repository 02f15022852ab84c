// NumPy arrays over our tensors, made with NumPy's own C API.
#ifndef DLPACK_NODE_PYTHON_NUMPY_ARRAY_H_
#define DLPACK_NODE_PYTHON_NUMPY_ARRAY_H_

#include "../descriptor.h"
#include "../storage.h"
#include "api.h"

namespace dlpack {
namespace python {

// Whether a class is numpy.ndarray, from a version of NumPy whose C API is known here. GIL held.
bool IsNumPyArray(Object* type);

// Whether NumPy has the dtype and can reach the memory.
bool FitsNumPy(const Descriptor& descriptor);

// A NumPy array over the memory. Requires that `IsNumPyArray` and `FitsNumPy` were true. np.from_dlpack takes three
// times as long for the same array, because it needs a managed tensor, two capsules and a call with keywords. GIL held;
// NULL with an exception set.
Object* NewNumPyArray(const Descriptor& descriptor, Storage* storage);

}  // namespace python
}  // namespace dlpack

#endif  // DLPACK_NODE_PYTHON_NUMPY_ARRAY_H_
