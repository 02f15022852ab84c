// CuPy arrays over our tensors, made with CuPy's own classes.
#ifndef DLPACK_NODE_PYTHON_CUPY_ARRAY_H_
#define DLPACK_NODE_PYTHON_CUPY_ARRAY_H_

#include "api.h"

namespace dlpack {
namespace python {

// Whether a class is cupy.ndarray, from a version of CuPy with the classes that are needed. GIL held.
bool IsCuPyArray(Object* type);

// Whether CuPy has the dtype of a Python tensor and may write its memory.
bool FitsCuPy(Object* tensor);

// A CuPy array over the tensor's memory, ready on CuPy's current stream. Requires that `IsCuPyArray` and `FitsCuPy`
// were true. cupy.from_dlpack takes three times as long. GIL held; NULL with an exception set.
Object* NewCuPyArray(Object* tensor);

}  // namespace python
}  // namespace dlpack

#endif  // DLPACK_NODE_PYTHON_CUPY_ARRAY_H_
