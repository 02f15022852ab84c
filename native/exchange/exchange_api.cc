#include "managed_tensor.h"

#include "../cuda/memory/memory.h"
#include "../cuda/streams/imports.h"

namespace dlpack {

// Allocates for work on the current stream of this thread.
static Storage* AllocateOnDevice(const DLDevice& device, uint64_t nbytes) {
  cuda::Result result;
  const int32_t id = device.device_type == kDLCUDA ? device.device_id : 0;
  cuda::Device* opened = cuda::GetDevice(id, &result);
  if (opened == nullptr) return nullptr;
  return cuda::AllocateMemory(static_cast<DLDeviceType>(device.device_type), opened, nbytes, cuda::CurrentStream(id),
                              &result);
}

// Any thread. Neither the allocation nor the release runs JavaScript.
static int Allocate(DLTensor* prototype, DLManagedTensorVersioned** out, void* error_ctx,
                    void (*SetError)(void* error_ctx, const char* kind, const char* message)) {
  *out = nullptr;
  // A caller that does not need the error passes NULL.
  const auto fail = [&](const char* kind, const char* message) {
    if (SetError != nullptr) SetError(error_ctx, kind, message);
    return -1;
  };
  const int32_t device_type = prototype->device.device_type;
  if (device_type != kDLCPU && !(cuda::IsLoaded() && cuda::CanAllocate(device_type))) {
    return fail("BufferError",
                "Expected a device that this process can allocate on: the host, or with dlpack/cuda its devices");
  }
  if (!IsKnownDType(prototype->dtype)) return fail("ValueError", "Expected a dtype of DLPack 1.3 for an allocation");
  DLTensor tensor = *prototype;
  tensor.strides = nullptr;  // row-major
  LayoutRoom layout;
  const Status status = DescribeLayout(tensor, 0, &layout);
  if (status == kNdim || status == kNullShape) {
    return fail("ValueError", "Expected 0 to 64 axes with a shape for an allocation");
  }
  if (status == kNegativeShape) return fail("ValueError", "Expected lengths of zero or more for an allocation");
  if (status != kOk) return fail("ValueError", "Expected a shape of at most 2^53 - 1 elements for an allocation");
  if (device_type != kDLCUDA) layout.device.device_id = 0;  // other device types have no number
  const uint64_t nbytes = static_cast<uint64_t>(layout.reach.high);
  Storage* storage = device_type == kDLCPU ? AllocateStorage(nbytes) : AllocateOnDevice(prototype->device, nbytes);
  // Nobody writes the bits after the last packed element.
  const bool is_packed = layout.dtype.bits * layout.dtype.lanes % 8 != 0;
  if (storage != nullptr && device_type == kDLCPU && is_packed && nbytes > 0) {
    static_cast<uint8_t*>(storage->data)[nbytes - 1] = 0;
  }
  *out = storage == nullptr ? nullptr : ExportChecked<DLManagedTensorVersioned>({&layout, 0, 0}, storage, this_thread);
  if (*out == nullptr) {
    if (storage != nullptr) ReleaseStorage(storage);
    return fail("MemoryError", "Out of memory for a tensor");
  }
  return 0;
}

// The Python functions of the table are filled in when an interpreter is attached. Until then there is no PyObject to
// convert, and no Python error indicator to set.
template <class Given, class Made>
static int Convert(Given*, Made** out) {
  *out = nullptr;
  return -1;
}

// Host memory has no streams. NULL is the common name of the legacy default stream.
static int CurrentWorkStream(DLDeviceType device_type, int32_t device_id, void** out) {
  *out = nullptr;
  if (!cuda::IsLoaded() || !cuda::IsCudaDevice(device_type)) return 0;
  const cuda::StreamHandle stream = cuda::CurrentStream(cuda::OrdinalOf(device_type, device_id));
  if (stream != cuda::kLegacyStream) *out = stream;
  return 0;
}

static DLPackExchangeAPI api = {
    {{DLPACK_MAJOR_VERSION, DLPACK_MINOR_VERSION}, nullptr}, Allocate, Convert, Convert, nullptr, CurrentWorkStream,
};

DLPackExchangeAPI* ExchangeApi() { return &api; }

}  // namespace dlpack
