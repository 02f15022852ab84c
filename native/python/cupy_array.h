// CuPy arrays: made over our tensors with CuPy's own classes, and read.
#pragma once

#include "../descriptor.h"
#include "api.h"

namespace dlpack::python {

// An array as a CUDA Array Interface usually describes it.
struct PlainArray {
  uint64_t pointer;
  uint64_t stream;  // 0: no need to wait
  DLDataType dtype;
  int32_t ndim;
  bool has_strides;
  bool is_read_only;
  int64_t shape[kMaxNdim];
  int64_t strides[kMaxNdim];  // bytes
};

// Whether a class is cupy.ndarray, from a version of CuPy with the classes that are needed. GIL held.
bool IsCuPyArray(Object* type);

// Whether CuPy has the dtype of a Python tensor and may write its memory.
bool FitsCuPy(Object* tensor);

// A CuPy array over the tensor's memory, ready on CuPy's current stream. Requires that `IsCuPyArray` and `FitsCuPy`
// were true. cupy.from_dlpack takes four times as long. GIL held; NULL with an exception set.
Object* NewCuPyArray(Object* tensor);

// Reads a CuPy array from the attributes that its `__cuda_array_interface__` is made of, because making that dict takes
// three times as long. False, perhaps with an exception set, for any other object, and when the program has replaced
// the property. GIL held.
bool ReadCuPyArray(Object* object, PlainArray* array);

}  // namespace dlpack::python
