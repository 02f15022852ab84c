// CUDA arrays of Python libraries: read through the CUDA Array Interface or CuPy's attributes, and CuPy arrays over our
// tensors, made with CuPy's own classes.
#pragma once

#include "../values/cells.h"

namespace dlpack::python {

// Whether a class is cupy.ndarray, from a version of CuPy with the classes that are needed. GIL held.
bool IsCuPyArray(Object* type);

// Whether CuPy has the dtype of a Python tensor and may write its memory.
bool FitsCuPy(Object* tensor);

// A CuPy array over the tensor's memory, ready on CuPy's current stream. Requires that `IsCuPyArray` and `FitsCuPy`
// were true. cupy.from_dlpack takes four times as long. GIL held; NULL with an exception set.
Object* NewCuPyArray(Object* tensor);

// Imports the tensor of an object with a CUDA Array Interface; the result keeps the object alive. NULL, with no
// exception set, if dlpack/cuda is not loaded or the interface is unusual. GIL held.
Storage* TakeInterface(Object* object, const LayoutTable* layouts, Imported* imported);

// Functions for JavaScript; src/python/binding.ts says what they do.
bool TakeArray(Objects* self, napi_env, uint32_t handle);
uint32_t KeepObject(Objects* self, napi_env, uint32_t handle);

}  // namespace dlpack::python
