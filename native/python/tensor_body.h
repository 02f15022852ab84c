// What a Python tensor holds, for the files that implement its type.
#ifndef DLPACK_NODE_PYTHON_TENSOR_BODY_H_
#define DLPACK_NODE_PYTHON_TENSOR_BODY_H_

#include "../abi/dlpack_abi.h"
#include "../storage.h"
#include "api.h"

namespace dlpack {
namespace python {

// Behind the head of the object.
struct Body {
  Storage* storage;
  DLTensor tensor;  // shape and strides point into `dims`
  uint32_t flags;
  int64_t* dims;                // `small_dims`, or memory of their own when there are more
  int64_t small_dims[2 * 4];
  ptrdiff_t* buffer_dims;  // shape and strides in bytes for the buffer protocol, made on demand
  char format[8];
};

inline Body* BodyOf(Object* self) { return reinterpret_cast<Body*>(reinterpret_cast<char*>(self) + api.head_size); }

// array_views.cc: the buffer protocol and the attributes that describe memory to NumPy. GIL held.
int GetBuffer(Object* self, Buffer* view, int flags);
Object* Shape(Object* self, void*);
Object* ArrayInterface(Object* self, void*);

}  // namespace python
}  // namespace dlpack

#endif  // DLPACK_NODE_PYTHON_TENSOR_BODY_H_
