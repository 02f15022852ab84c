#include "device_import.h"

#include "../cuda/imports.h"
#include "calls.h"

namespace dlpack::python {

Object* StreamArgument(Object* object) {
  if (!cuda::IsLoaded()) return nullptr;
  const Ref pair(api.PyObject_VectorcallMethod(names.dlpack_device, &object, 1, nullptr));
  long long type = 0, id = 0;
  const bool is_device = pair && ReadPair(pair.get(), &type, &id);
  // An object without a usable __dlpack_device__ may still export its tensor.
  api.PyErr_Clear();
  if (!is_device || !cuda::IsCudaDevice(static_cast<int32_t>(type))) return nullptr;
  const int32_t ordinal = cuda::OrdinalOf(static_cast<int32_t>(type), static_cast<int32_t>(id));
  return api.PyLong_FromVoidPtr(cuda::CurrentStream(ordinal));
}

Storage* FollowProducer(Storage* storage, const Descriptor& descriptor, DLPackExchangeAPI* table) {
  if (storage == nullptr || !cuda::IsLoaded() || !cuda::IsCudaDevice(descriptor.device.device_type) ||
      storage->nbytes == 0)
    return storage;
  const int32_t ordinal = cuda::OrdinalOf(descriptor.device.device_type, descriptor.device.device_id);
  cuda::StreamHandle stream = nullptr;
  if (table != nullptr && table->current_work_stream != nullptr) {
    void* current = nullptr;
    const auto type = static_cast<DLDeviceType>(descriptor.device.device_type);
    if (table->current_work_stream(type, descriptor.device.device_id, &current) != 0) {
      ReleaseStorage(storage);
      return api.PyErr_Occurred() ? Failure() : Raise(api.PyExc_BufferError, "Expected the producer's current stream");
    }
    stream = cuda::Normalize(static_cast<cuda::StreamHandle>(current));
  }
  if (cuda::FollowProducer(storage, ordinal, ordinal, stream) == cuda::kSuccess) return storage;
  ReleaseStorage(storage);
  return Raise(api.PyExc_BufferError, "Expected our stream to wait for the producer's but the CUDA driver refused");
}

}  // namespace dlpack::python
