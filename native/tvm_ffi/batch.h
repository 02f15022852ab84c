// A batch: values that do not fit into a slot, collected for one container or one call. It is a TVM-FFI object, so that
// the table of references can hold it.
#pragma once

#include "../abi/tvm_ffi_abi.h"

namespace dlpack::tvm_ffi {

struct Batch {
  TVMFFIObject header;
  TVMFFIAny* values;  // owned
  int32_t count;
  int32_t capacity;
};

// The object as a batch; NULL when it is not a batch.
Batch* AsBatch(TVMFFIObjectHandle object);

}  // namespace dlpack::tvm_ffi
