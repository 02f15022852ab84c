// Our tensors as TVM-FFI tensor objects: reference-counted, laid out as the ABI says, released by plain C on any
// thread.
#ifndef DLPACK_NODE_TVM_FFI_TENSOR_OBJECT_H_
#define DLPACK_NODE_TVM_FFI_TENSOR_OBJECT_H_

#include "../abi/tvm_ffi_abi.h"
#include "../descriptor.h"
#include "../storage.h"
#include "../trace.h"

namespace dlpack {
namespace tvm_ffi {

struct TensorObject {
  TVMFFIObject header;
  DLTensor tensor;   // what the ABI promises ends here
  Storage* storage;  // NULL: lent by JavaScript
  Trace* trace;
  uint64_t flags;  // DLPACK_FLAG_BITMASK_*, for which the library has no place
  uint64_t byte_offset;
  int64_t dims[];
};

static_assert(offsetof(TensorObject, tensor) == 24 && offsetof(TensorObject, storage) == 72, "TensorObj of the ABI");

// One reference for the caller, and one to `storage` if there is one. `data` is where the storage begins. NULL when out
// of memory.
TensorObject* CreateTensorObject(const Descriptor& descriptor, void* data, Storage* storage);

// The object as ours, NULL when somebody else made it, or when the memory is only lent.
TensorObject* AsOwnTensor(TVMFFIObject* object);

// Describes an object of ours and returns its storage with a reference for the caller.
Storage* DescribeTensorObject(const TensorObject& object, Descriptor* descriptor);

}  // namespace tvm_ffi
}  // namespace dlpack

#endif  // DLPACK_NODE_TVM_FFI_TENSOR_OBJECT_H_
