// The CUDA Array Interface: reads it from Python objects in one call.
#pragma once

#include "cupy_array.h"
#include "values.h"

namespace dlpack::python {

// Reads shape and strides: tuples of integers of at most 2^53 - 1, or None for strides. False, perhaps with an
// exception set, for anything else. GIL held.
bool ReadLayout(Object* shape, Object* strides, PlainArray* array);

// takeArray(): the tensor of a TakeArrayRequest, if the object's interface has the usual form. JavaScript thread.
napi_value TakeArray(napi_env env, napi_callback_info info);

// Imports the tensor of an object with a CUDA Array Interface; the result keeps the object alive. NULL, with no
// exception set, if dlpack/cuda is not loaded or the interface is unusual. `last` as in managed_tensor.h. GIL held.
Storage* TakeInterface(Object* object, Descriptor* descriptor, TensorSignature* last);

// keepObject(handle): the handle of a storage without memory that keeps the object alive, for an interface that
// JavaScript reads; 0 when out of memory. JavaScript thread.
uint32_t KeepObject(Objects* self, uint32_t handle);

}  // namespace dlpack::python
