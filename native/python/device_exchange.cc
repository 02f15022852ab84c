#include "device_exchange.h"

#include <stdio.h>

#include "../cuda/copy.h"

namespace dlpack::python {

namespace {

Failure RaiseDriverError(cuda::Result result, const char* what) {
  const char* name = nullptr;
  if (cuda::driver.GetErrorName(result, &name) != cuda::kSuccess || name == nullptr) name = "an unknown error";
  char message[160];
  snprintf(message, sizeof(message), "Expected %s but the CUDA driver answered %s", what, name);
  return Raise(api.PyExc_BufferError, message);
}

bool IsPacked(const Body& body) {
  const int bits = body.tensor.dtype.bits * body.tensor.dtype.lanes;
  return bits % 8 != 0 && (body.flags & DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED) == 0;
}

// Plans a copy into row-major memory. Merges contiguous axes and skips axes of length 1. False for packed elements in
// another order, because a copy of bytes cannot reorder them.
bool PlanCopy(const Body& body, char* target, int64_t nbytes, cuda::CopyRequest* request) {
  const DLTensor& tensor = body.tensor;
  const int64_t whole = (int64_t{tensor.dtype.bits} * tensor.dtype.lanes + 7) / 8;
  int64_t item = 1;
  while (item < 16 && whole % (item * 2) == 0) item *= 2;
  *request = cuda::CopyRequest{};
  request->source = static_cast<char*>(tensor.data) + tensor.byte_offset;
  request->target = target;
  request->item = item;
  int64_t lengths[kMaxNdim + 1], steps[kMaxNdim + 1];
  int32_t axes = 0;
  if (IsRowMajor(tensor)) {
    request->item = 1;
    request->ndim = 1;
    request->shape[0] = nbytes;
    request->source_steps[0] = request->target_steps[0] = 1;
    return true;
  }
  if (IsPacked(body)) return false;
  // From the innermost axis outwards. An element of another size is a row of items.
  if (whole > item) {
    lengths[axes] = whole / item;
    steps[axes++] = item;
  }
  for (int32_t i = tensor.ndim - 1; i >= 0; --i) {
    if (tensor.shape[i] == 1) continue;
    const int64_t stride = tensor.strides[i] * whole;
    if (axes > 0 && stride == steps[axes - 1] * lengths[axes - 1]) {
      lengths[axes - 1] *= tensor.shape[i];
      continue;
    }
    lengths[axes] = tensor.shape[i];
    steps[axes++] = stride;
  }
  if (axes > kMaxNdim) return false;
  request->ndim = axes;
  int64_t target_step = item;
  for (int32_t i = 0; i < axes; ++i) {
    const int32_t at = axes - 1 - i;
    request->shape[at] = lengths[i];
    request->source_steps[at] = steps[i];
    request->target_steps[at] = target_step;
    target_step *= lengths[i];
  }
  return true;
}

// Queues the copy of all elements into a storage, ordered after all uses of both.
cuda::Result QueueElements(const Body& body, cuda::Device* device, Storage* target, bool is_target_reachable,
                           cuda::StreamHandle stream, bool* is_possible) {
  cuda::CopyRequest request;
  *is_possible = PlanCopy(body, static_cast<char*>(target->data), static_cast<int64_t>(target->nbytes), &request);
  if (!*is_possible) return cuda::kNotSupported;
  request.is_source_reachable = true;
  request.is_target_reachable = is_target_reachable;
  return cuda::UseOnStream(cuda::StreamRef{device, stream}, {body.storage, is_target_reachable ? target : nullptr},
                           [&] { return cuda::QueueCopy(device, request, stream); });
}

}  // namespace

bool ReadStream(Object* value, ConsumerStream* stream) {
  *stream = cuda::kLegacyStream;
  if (value == api._Py_NoneStruct) return true;
  long long number = 0;
  const bool is_integer = ReadInteger(value, &number);
  if (api.PyErr_Occurred()) return false;
  if (!is_integer || number == 0 || number < -1) {
    return Raise(
        api.PyExc_ValueError,
        "Expected None, -1, 1 (legacy default), 2 (per-thread default) or a handle for stream; 0 is ambiguous");
  }
  *stream = number == -1 ? nullptr : reinterpret_cast<ConsumerStream>(static_cast<uintptr_t>(number));
  return true;
}

bool HandOver(Storage* storage, const DLDevice& device, ConsumerStream stream) {
  if (stream == nullptr || !cuda::IsLoaded()) return true;
  cuda::Result result;
  const cuda::Device* found = cuda::GetDevice(cuda::OrdinalOf(device.device_type, device.device_id), &result);
  if (found != nullptr) result = cuda::Lend(storage, cuda::StreamRef{found, stream});
  return result == cuda::kSuccess || RaiseDriverError(result, "the consumer's stream to wait for the tensor");
}

bool OfferOnCurrentStream(const Body& body, uint64_t* stream) {
  const DLDevice& device = body.tensor.device;
  const ConsumerStream current = cuda::IsLoaded()
                                     ? cuda::CurrentStream(cuda::OrdinalOf(device.device_type, device.device_id))
                                     : cuda::kLegacyStream;
  *stream = reinterpret_cast<uint64_t>(current);
  return HandOver(body.storage, device, current);
}

Storage* CopyDeviceElements(const Body& body, bool to_host) {
  const DLTensor& tensor = body.tensor;
  const int32_t ordinal = cuda::OrdinalOf(tensor.device.device_type, tensor.device.device_id);
  cuda::Result result = cuda::kNotInitialized;
  cuda::Device* device = cuda::IsLoaded() ? cuda::GetDevice(ordinal, &result) : nullptr;
  if (device == nullptr) {
    return Raise(api.PyExc_BufferError, "Expected a CUDA driver for a copy: load dlpack/cuda first");
  }
  uint64_t nbytes;
  if (!CountBytes(tensor, IsPacked(body), &nbytes)) return nullptr;
  const cuda::StreamHandle stream = cuda::CurrentStream(ordinal);
  bool is_possible = true;
  Storage* target = to_host ? AllocateStorage(nbytes)
                            : cuda::AllocateMemory(static_cast<DLDeviceType>(tensor.device.device_type), device, nbytes,
                                                   stream, &result);
  if (target == nullptr && to_host) result = cuda::kOutOfDeviceMemory;
  if (target != nullptr && nbytes > 0) result = QueueElements(body, device, target, !to_host, stream, &is_possible);
  if (result == cuda::kNotSupported && is_possible && to_host) {
    // Only the device can follow these strides, so it packs the elements first.
    Storage* packed = CopyDeviceElements(body, false);
    if (packed == nullptr) {
      ReleaseStorage(target);
      return nullptr;
    }
    cuda::ContextScope scope(device);
    result = cuda::driver.MemcpyAsync(reinterpret_cast<uintptr_t>(target->data),
                                      reinterpret_cast<uintptr_t>(packed->data), static_cast<size_t>(nbytes), stream);
    if (result == cuda::kSuccess) result = cuda::NoteUse(packed, cuda::StreamRef{device, stream});
    ReleaseStorage(packed);
  }
  if (result == cuda::kSuccess && to_host && nbytes > 0) {
    cuda::ContextScope scope(device);
    result = cuda::driver.StreamSynchronize(stream);
  }
  if (result == cuda::kSuccess) return target;
  if (target != nullptr) ReleaseStorage(target);
  if (!is_possible) return Raise(api.PyExc_BufferError, "Expected contiguous packed elements for a copy");
  return RaiseDriverError(result, "a copy of the tensor");
}

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
