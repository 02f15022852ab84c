#include "device_import.h"

#include "../cuda/imports.h"
#include "runtime.h"

namespace dlpack::python {

bool IsHostType(Object* type) { return HasText(type, "__module__", "numpy"); }

Object* StreamArgument(Object* object) {
  if (!cuda::IsLoaded()) return nullptr;
  static Object* dlpack_device = api.PyUnicode_InternFromString("__dlpack_device__");
  Ref pair(api.PyObject_VectorcallMethod(dlpack_device, &object, 1, nullptr));
  long long numbers[2] = {0, 0};
  if (pair && TypeOf(pair.get()) == api.PyTuple_Type && api.PyTuple_Size(pair.get()) == 2) {
    for (int i = 0; i < 2; ++i) {
      int overflow = 0;
      // Members of an IntEnum are integers, too.
      numbers[i] = api.PyLong_AsLongLongAndOverflow(api.PyTuple_GetItem(pair.get(), i), &overflow);
      if (api.PyErr_Occurred()) break;
    }
  }
  const bool failed = api.PyErr_Occurred() != nullptr;
  // An object without a usable __dlpack_device__ may still export its tensor.
  api.PyErr_Clear();
  if (failed || !cuda::IsCudaDevice(static_cast<int32_t>(numbers[0]))) return nullptr;
  const int32_t ordinal = cuda::OrdinalOf(static_cast<int32_t>(numbers[0]), static_cast<int32_t>(numbers[1]));
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
      if (!api.PyErr_Occurred()) api.PyErr_SetString(api.PyExc_BufferError, "Expected the producer's current stream");
      return nullptr;
    }
    stream = cuda::Normalize(static_cast<cuda::StreamHandle>(current));
  }
  if (cuda::FollowProducer(storage, ordinal, ordinal, stream) == cuda::kSuccess) return storage;
  ReleaseStorage(storage);
  api.PyErr_SetString(api.PyExc_BufferError,
                      "Expected our stream to wait for the producer's but the CUDA driver refused");
  return nullptr;
}

}  // namespace dlpack::python
