// The CUDA Array Interface of Python objects, read in one call, and that of our own tensors.
#ifndef DLPACK_NODE_PYTHON_CUDA_ARRAY_H_
#define DLPACK_NODE_PYTHON_CUDA_ARRAY_H_

#include "values.h"

namespace dlpack {
namespace python {

// At the end of the words of the object frame. src/python/array-interface.ts is its twin.
static const uint32_t kArrayWords = 144;
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
                  sizeof(ArrayFrame) <= sizeof(double) * kArrayWords,
              "src/python/array-interface.ts has these offsets");

// readArray(): the interface of the object in the frame, or, with `count` 1, the object as the interface itself.
// JavaScript thread.
napi_value ReadArray(napi_env env, napi_callback_info info);

// takeArray(): the object in the frame as a TensorResult; `count` is 1 then. 0, with
// nothing taken, for whatever is out of the ordinary or wrong, which is for readArray to look at. JavaScript thread.
napi_value TakeArray(napi_env env, napi_callback_info info);

// Getter of our tensor type. GIL held.
Object* CudaArrayInterface(Object* self, void*);

}  // namespace python
}  // namespace dlpack

#endif  // DLPACK_NODE_PYTHON_CUDA_ARRAY_H_
