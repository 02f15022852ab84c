// A batch: values that do not fit into a slot, collected for one container or one call. It is a TVM-FFI object, so that
// the table of references can hold it.
#ifndef DLPACK_NODE_TVM_FFI_BATCH_H_
#define DLPACK_NODE_TVM_FFI_BATCH_H_

#include "../abi/tvm_ffi_abi.h"

namespace dlpack {
namespace tvm_ffi {

struct Batch {
  TVMFFIObject header;
  TVMFFIAny* values;  // owned
  int32_t count;
  int32_t capacity;
};

// The object as a batch; NULL when it is not a batch.
Batch* AsBatch(TVMFFIObjectHandle object);

}  // namespace tvm_ffi
}  // namespace dlpack

#endif  // DLPACK_NODE_TVM_FFI_BATCH_H_
