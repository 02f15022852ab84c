// The CUDA Array Interface of Python objects, read in one call, and that of our own tensors.
#ifndef DLPACK_NODE_PYTHON_CUDA_ARRAY_H_
#define DLPACK_NODE_PYTHON_CUDA_ARRAY_H_

#include "values.h"

namespace dlpack {
namespace python {

// takeArray(): the tensor of a TakeArrayRequest, if nothing about the object's interface is unusual. JavaScript thread.
napi_value TakeArray(napi_env env, napi_callback_info info);

// The tensor of an object with a CUDA Array Interface, which the result keeps. NULL, with no exception set, without
// dlpack/cuda and where something about the interface is unusual. `last` as in managed_tensor.h. GIL held.
Storage* TakeInterface(Object* object, Descriptor* descriptor, TensorSignature* last);

// keepObject(handle): the handle of a storage without memory that keeps the object, for an interface that JavaScript
// reads; 0 when out of memory. JavaScript thread.
napi_value KeepObject(napi_env env, napi_callback_info info);

// Getter of our tensor type. GIL held.
Object* CudaArrayInterface(Object* self, void*);

}  // namespace python
}  // namespace dlpack

#endif  // DLPACK_NODE_PYTHON_CUDA_ARRAY_H_
