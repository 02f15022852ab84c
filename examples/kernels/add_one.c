// One kernel in C, by hand against the ABI: no C++ and no exceptions. TVM-FFI finds it by its name,
// __tvm_ffi_add_one_c.
#include <tvm/ffi/c_api.h>

// The DLTensor of an argument, owning or not.
static const DLTensor* TensorOf(const TVMFFIAny* value) {
  if (value->type_index == kTVMFFIDLTensorPtr) return (const DLTensor*)value->v_ptr;
  if (value->type_index == kTVMFFITensor) return (const DLTensor*)((const char*)value->v_obj + sizeof(TVMFFIObject));
  return NULL;
}

static int IsVector(const DLTensor* tensor) {
  return tensor != NULL && tensor->ndim == 1 && tensor->dtype.code == kDLFloat && tensor->dtype.bits == 32 &&
         tensor->dtype.lanes == 1 && tensor->device.device_type == kDLCPU;
}

static float* ElementOf(const DLTensor* tensor, int64_t index) {
  const int64_t step = tensor->strides == NULL ? 1 : tensor->strides[0];
  return (float*)((char*)tensor->data + tensor->byte_offset) + index * step;
}

TVM_FFI_DLL_EXPORT int __tvm_ffi_add_one_c(void* handle, const TVMFFIAny* args, int32_t num_args, TVMFFIAny* result) {
  (void)handle;
  (void)result;
  if (num_args != 2) {
    TVMFFIErrorSetRaisedFromCStr("TypeError", "add_one_c takes two tensors");
    return -1;
  }
  const DLTensor* x = TensorOf(&args[0]);
  const DLTensor* y = TensorOf(&args[1]);
  if (!IsVector(x) || !IsVector(y) || x->shape[0] != y->shape[0]) {
    TVMFFIErrorSetRaisedFromCStr("ValueError", "add_one_c takes two float32 vectors of one length on the CPU");
    return -1;
  }
  for (int64_t i = 0; i < x->shape[0]; ++i) *ElementOf(y, i) = *ElementOf(x, i) + 1.0f;
  return 0;
}
