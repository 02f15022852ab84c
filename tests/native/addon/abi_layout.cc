// Prints the layout of every struct of a real dlpack.h as JSON; tests compare it with the tables of src/abi. Compiling
// it also proves that native/abi/dlpack_abi.h declares the same structs.
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

namespace real {
#include <dlpack/dlpack.h>
}
// Our header declares the same names and macros. The real macros are no longer needed.
#undef DLPACK_MAJOR_VERSION
#undef DLPACK_MINOR_VERSION
#undef DLPACK_FLAG_BITMASK_READ_ONLY
#undef DLPACK_FLAG_BITMASK_IS_COPIED
#undef DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED
namespace ours {
#include "../../../native/abi/dlpack_abi.h"
}

#define SAME_SIZE(S) static_assert(sizeof(real::S) == sizeof(ours::S) && alignof(real::S) == alignof(ours::S), #S)
#define SAME(S, F) \
  static_assert(offsetof(real::S, F) == offsetof(ours::S, F) && sizeof(real::S::F) == sizeof(ours::S::F), #S "." #F)

SAME_SIZE(DLPackVersion);
SAME(DLPackVersion, major);
SAME(DLPackVersion, minor);
SAME_SIZE(DLDevice);
SAME(DLDevice, device_type);
SAME(DLDevice, device_id);
SAME_SIZE(DLDataType);
SAME(DLDataType, code);
SAME(DLDataType, bits);
SAME(DLDataType, lanes);
SAME_SIZE(DLTensor);
SAME(DLTensor, data);
SAME(DLTensor, device);
SAME(DLTensor, ndim);
SAME(DLTensor, dtype);
SAME(DLTensor, shape);
SAME(DLTensor, strides);
SAME(DLTensor, byte_offset);
SAME_SIZE(DLManagedTensor);
SAME(DLManagedTensor, dl_tensor);
SAME(DLManagedTensor, manager_ctx);
SAME(DLManagedTensor, deleter);
SAME_SIZE(DLManagedTensorVersioned);
SAME(DLManagedTensorVersioned, version);
SAME(DLManagedTensorVersioned, manager_ctx);
SAME(DLManagedTensorVersioned, deleter);
SAME(DLManagedTensorVersioned, flags);
SAME(DLManagedTensorVersioned, dl_tensor);
SAME_SIZE(DLPackExchangeAPIHeader);
SAME(DLPackExchangeAPIHeader, version);
SAME(DLPackExchangeAPIHeader, prev_api);
SAME_SIZE(DLPackExchangeAPI);
SAME(DLPackExchangeAPI, header);
SAME(DLPackExchangeAPI, managed_tensor_allocator);
SAME(DLPackExchangeAPI, managed_tensor_from_py_object_no_sync);
SAME(DLPackExchangeAPI, managed_tensor_to_py_object_no_sync);
SAME(DLPackExchangeAPI, dltensor_from_py_object_no_sync);
SAME(DLPackExchangeAPI, current_work_stream);

#define BEGIN(S)                                                                                            \
  printf("%s\"%s\": {\"size\": %zu, \"alignment\": %zu", separator, #S, sizeof(real::S), alignof(real::S)); \
  separator = "},\n"
#define FIELD(S, F) printf(", \"%s\": %zu", #F, offsetof(real::S, F))

int main() {
  const char* separator = "";
  printf("{\"structs\": {\n");
  BEGIN(DLPackVersion);
  FIELD(DLPackVersion, major);
  FIELD(DLPackVersion, minor);
  BEGIN(DLDevice);
  FIELD(DLDevice, device_type);
  FIELD(DLDevice, device_id);
  BEGIN(DLDataType);
  FIELD(DLDataType, code);
  FIELD(DLDataType, bits);
  FIELD(DLDataType, lanes);
  BEGIN(DLTensor);
  FIELD(DLTensor, data);
  FIELD(DLTensor, device);
  FIELD(DLTensor, ndim);
  FIELD(DLTensor, dtype);
  FIELD(DLTensor, shape);
  FIELD(DLTensor, strides);
  FIELD(DLTensor, byte_offset);
  BEGIN(DLManagedTensor);
  FIELD(DLManagedTensor, dl_tensor);
  FIELD(DLManagedTensor, manager_ctx);
  FIELD(DLManagedTensor, deleter);
  BEGIN(DLManagedTensorVersioned);
  FIELD(DLManagedTensorVersioned, version);
  FIELD(DLManagedTensorVersioned, manager_ctx);
  FIELD(DLManagedTensorVersioned, deleter);
  FIELD(DLManagedTensorVersioned, flags);
  FIELD(DLManagedTensorVersioned, dl_tensor);
  BEGIN(DLPackExchangeAPIHeader);
  FIELD(DLPackExchangeAPIHeader, version);
  FIELD(DLPackExchangeAPIHeader, prev_api);
  BEGIN(DLPackExchangeAPI);
  FIELD(DLPackExchangeAPI, header);
  FIELD(DLPackExchangeAPI, managed_tensor_allocator);
  FIELD(DLPackExchangeAPI, managed_tensor_from_py_object_no_sync);
  FIELD(DLPackExchangeAPI, managed_tensor_to_py_object_no_sync);
  FIELD(DLPackExchangeAPI, dltensor_from_py_object_no_sync);
  FIELD(DLPackExchangeAPI, current_work_stream);
  printf("}}}\n");
  return 0;
}
