// CuPy arrays over our tensors, made with CuPy's own classes.
#ifndef DLPACK_NODE_PYTHON_CUPY_ARRAY_H_
#define DLPACK_NODE_PYTHON_CUPY_ARRAY_H_

#include "api.h"

namespace dlpack {
namespace python {

// Whether a class is cupy.ndarray, of a CuPy with the classes that are needed. GIL held.
bool IsCuPyArray(Object* type);

// Whether CuPy has the dtype of a Python tensor and the memory is one that it may write.
bool FitsCuPy(Object* tensor);

// An array over a tensor that `FitsCuPy` was true for, of a class that `IsCuPyArray` was true for, ready on CuPy's
// current stream. What cupy.from_dlpack does takes three times as long. GIL held; NULL with an exception set.
Object* NewCuPyArray(Object* tensor);

}  // namespace python
}  // namespace dlpack

#endif  // DLPACK_NODE_PYTHON_CUPY_ARRAY_H_
