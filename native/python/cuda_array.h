// The CUDA Array Interface of Python objects, read in one call, and that of our own tensors.
#ifndef DLPACK_NODE_PYTHON_CUDA_ARRAY_H_
#define DLPACK_NODE_PYTHON_CUDA_ARRAY_H_

#include "values.h"

namespace dlpack {
namespace python {

// In the object frame, over the cells behind the first two. src/python/array-interface.ts is its twin.
struct ArrayFrame {
  uint64_t pointer;
  uint64_t stream;
  char typestr[8];  // up to six characters, the rest 0
  int32_t ndim;
  int32_t version;
  uint32_t storage;  // in the table of the environment; keeps the object
  uint32_t flags;
  double shape[kMaxNdim];
  double strides[kMaxNdim];  // bytes
};

enum ArrayFlag : uint32_t { kArrayReadOnly = 1, kArrayHasStrides = 2, kArrayHasStream = 4, kArrayIsPlain = 8 };

static_assert(offsetof(ArrayFrame, ndim) == 24 && offsetof(ArrayFrame, shape) == 40 &&
                  sizeof(ArrayFrame) <= sizeof(Cell) * (kMaxCells - 2),
              "src/python/array-interface.ts has these offsets");

// readArray(): the interface of the object in cell 0, or what cell 1 says is the interface itself. JavaScript thread.
napi_value ReadArray(napi_env env, napi_callback_info info);

// Getter of our tensor type. GIL held.
Object* CudaArrayInterface(Object* self, void*);

}  // namespace python
}  // namespace dlpack

#endif  // DLPACK_NODE_PYTHON_CUDA_ARRAY_H_
