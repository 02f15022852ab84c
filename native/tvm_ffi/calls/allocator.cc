// The allocator that kernels use, per thread.
#include "../../exchange/managed_tensor.h"
#include "../../wire/wire.h"
#include "../codec/tensor_object.h"
#include "../context.h"

namespace dlpack::tvm_ffi {

// Calls the JavaScript allocator with [dtype, device, ...shape]. It returns one of our tensor objects.
static int AllocateInJavaScript(DLTensor* prototype, DLManagedTensorVersioned** out, void* error_ctx,
                                void (*SetError)(void* error_ctx, const char* kind, const char* message)) {
  *out = nullptr;
  // The caller of an allocator may pass no error function.
  const auto fail = [&](const char* kind, const char* message) {
    if (SetError != nullptr) SetError(error_ctx, kind, message);
    return -1;
  };
  Context* self = allocating;
  if (self == nullptr || prototype->ndim < 0 || prototype->ndim > kMaxNdim) {
    return fail("RuntimeError", "Expected an allocation on the JavaScript thread of 0 to 64 axes");
  }
  TVMFFIAny args[kMaxNdim + 2] = {};
  args[0].type_index = kTVMFFIDataType;
  args[0].v_dtype = prototype->dtype;
  args[1].type_index = kTVMFFIDevice;
  args[1].v_device = prototype->device;
  for (int32_t i = 0; i < prototype->ndim; ++i) args[i + 2] = IntegerValue(prototype->shape[i]);
  TVMFFIAny result = {};
  // The error that JavaScript raised stays raised.
  if (RunCallback(self, self->allocator_callback, args, prototype->ndim + 2, &result) != 0) return -1;
  const TensorObject* own = result.type_index == kTVMFFITensor ? AsOwnTensor(result.v_obj) : nullptr;
  if (own != nullptr) {
    LayoutRoom layout;
    Descriptor tensor;
    Storage* storage = DescribeTensorObject(*own, &layout, &tensor);
    Status status;
    *out = ExportManaged<DLManagedTensorVersioned>(tensor, storage, &status);
    ReleaseStorage(storage);
  }
  ReleaseValue(result);
  if (*out != nullptr) return 0;
  return fail("MemoryError", "Expected a Tensor from the allocator");
}

void UseOwnAllocator(Context* self) {
  const DLPackManagedTensorAllocator own = ExchangeApi()->managed_tensor_allocator;
  const DLPackManagedTensorAllocator before = library.EnvGetDLPackManagedTensorAllocator();
  const bool is_hosted = before != nullptr && before != own;
  if (!is_hosted) library.EnvSetDLPackManagedTensorAllocator(own, 0, nullptr);
  self->allocator = is_hosted ? own : nullptr;
}

AllocatorScope::AllocatorScope(const Context* self) : is_changed_(false), before_(nullptr) {
  if (self->allocator != nullptr) return;
  const DLPackManagedTensorAllocator own = ExchangeApi()->managed_tensor_allocator;
  if (library.EnvGetDLPackManagedTensorAllocator() == own) return;
  is_changed_ = true;
  library.EnvSetDLPackManagedTensorAllocator(own, 0, &before_);
}

AllocatorScope::~AllocatorScope() {
  if (is_changed_) library.EnvSetDLPackManagedTensorAllocator(before_, 0, nullptr);
}

// setAllocator(address, callback): the allocator for kernels that this instance calls: a JavaScript function, a C
// function, or our own.
static void SetAllocator(Context* self, napi_env, uint64_t address, uint32_t callback) {
  self->allocator_callback = callback;
  if (callback != 0) {
    self->allocator = AllocateInJavaScript;
  } else if (address != 0) {
    self->allocator = reinterpret_cast<DLPackManagedTensorAllocator>(address);
  } else {
    UseOwnAllocator(self);
  }
}

// Allocates a row-major tensor as a kernel would, and pushes it onto the wire.
static void AllocTensor(Context* self, TensorAllocateRequest* request, napi_env env) {
  LayoutRoom room;
  Descriptor tensor;
  request->problem = ReadTensor(self->instance, request->tensor, UINT64_MAX, &room, &tensor);
  request->status = 0;
  if (request->problem != kOk) return;
  DLTensor prototype = {};
  prototype.device = tensor.layout->device;
  prototype.ndim = tensor.layout->ndim;
  prototype.dtype = tensor.layout->dtype;
  prototype.shape = tensor.layout->shape;
  TVMFFIAny result = {};
  result.type_index = kTVMFFITensor;
  TVMFFIObjectHandle object = nullptr;
  DLPackManagedTensorAllocator before = nullptr;
  Context* outer = allocating;
  allocating = self;
  if (self->allocator != nullptr) library.EnvSetDLPackManagedTensorAllocator(self->allocator, 0, &before);
  request->status = library.EnvTensorAlloc(&prototype, &object);
  if (self->allocator != nullptr) library.EnvSetDLPackManagedTensorAllocator(before, 0, nullptr);
  allocating = outer;
  if (request->status != 0) return;
  result.v_obj = static_cast<TVMFFIObject*>(object);
  uint32_t reference = 0;
  TakeObject(self, env, &result, true, &reference, &request->status);
}

const NamedFunction kAllocatorFunctions[] = {
    {"setAllocator", Binding<SetAllocator>::Call}, {"allocTensor", Binding<AllocTensor>::Call}, {}};

}  // namespace dlpack::tvm_ffi
