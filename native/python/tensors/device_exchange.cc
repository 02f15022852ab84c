#include "device_exchange.h"

#include <stdio.h>

#include "../../cuda/copies/copy.h"

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
// another order, because a copy of bytes cannot reorder them, and for too many axes.
bool PlanCopy(const Body& body, char* target, int64_t nbytes, cuda::DeviceCopy* request) {
  const DLTensor& tensor = body.tensor;
  *request = cuda::DeviceCopy{};
  request->source = static_cast<char*>(tensor.data) + tensor.byte_offset;
  request->target = target;
  request->item = 1;
  bool fits = true;
  // The stride of an axis of length 1 can be any number, so only others are multiplied.
  const auto add_axis = [&](int64_t length, int64_t stride, int64_t unit) {
    if (length == 1) return;
    const int64_t step = stride * unit;
    const int32_t last = request->ndim - 1;
    const bool is_merged = last >= 0 && request->source_steps[last] == length * step;
    fits = fits && (is_merged || request->ndim < kMaxNdim);
    if (!fits) return;
    const int32_t at = is_merged ? last : request->ndim++;
    request->shape[at] = is_merged ? request->shape[at] * length : length;
    request->source_steps[at] = step;
  };
  if (IsRowMajor(tensor)) {
    add_axis(nbytes, 1, 1);
  } else if (IsPacked(body)) {
    return false;
  } else {
    const int64_t whole = (int64_t{tensor.dtype.bits} * tensor.dtype.lanes + 7) / 8;
    while (request->item < 16 && whole % (request->item * 2) == 0) request->item *= 2;
    for (int32_t i = 0; i < tensor.ndim; ++i) add_axis(tensor.shape[i], tensor.strides[i], whole);
    add_axis(whole / request->item, 1, request->item);  // an element of another size is a row of items
  }
  int64_t step = request->item;
  for (int32_t i = request->ndim - 1; i >= 0; --i) {
    request->target_steps[i] = step;
    step *= request->shape[i];
  }
  return fits;
}

// Queues the copy of all elements into a storage, ordered after all uses of both.
cuda::Result QueueElements(const Body& body, cuda::Device* device, Storage* target, bool is_target_reachable,
                           cuda::StreamHandle stream, bool* is_possible) {
  cuda::DeviceCopy request;
  *is_possible = PlanCopy(body, static_cast<char*>(target->data), static_cast<int64_t>(target->nbytes), &request);
  if (!*is_possible) return cuda::kNotSupported;
  request.is_source_reachable = true;
  request.is_target_reachable = is_target_reachable;
  return cuda::UseOnStream(cuda::StreamRef{device, stream}, {body.storage, is_target_reachable ? target : nullptr},
                           [&] { return cuda::QueueCopy(device, request, stream); });
}

}  // namespace

bool ReadStream(Object* value, cuda::StreamHandle* stream) {
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
  *stream = number == -1 ? nullptr : reinterpret_cast<cuda::StreamHandle>(static_cast<uintptr_t>(number));
  return true;
}

bool HandOver(Storage* storage, const DLDevice& device, cuda::StreamHandle stream) {
  if (stream == nullptr || !cuda::IsLoaded()) return true;
  cuda::Result result;
  const cuda::Device* found = cuda::GetDevice(cuda::OrdinalOf(device.device_type, device.device_id), &result);
  if (found != nullptr) result = cuda::Lend(storage, cuda::StreamRef{found, stream});
  return result == cuda::kSuccess || RaiseDriverError(result, "the consumer's stream to wait for the tensor");
}

bool OfferOnCurrentStream(const Body& body, uint64_t* stream) {
  const DLDevice& device = body.tensor.device;
  const cuda::StreamHandle current = cuda::IsLoaded()
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
  Storage* target = to_host ? AllocateStorage(nbytes)
                            : cuda::AllocateMemory(static_cast<DLDeviceType>(tensor.device.device_type), device, nbytes,
                                                   stream, &result);
  if (target == nullptr) return RaiseDriverError(to_host ? cuda::kOutOfDeviceMemory : result, "a copy of the tensor");
  if (nbytes == 0) return target;
  bool is_possible;
  result = QueueElements(body, device, target, !to_host, stream, &is_possible);
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
  if (result == cuda::kSuccess && to_host) {
    cuda::ContextScope scope(device);
    result = cuda::driver.StreamSynchronize(stream);
  }
  if (result == cuda::kSuccess) return target;
  ReleaseStorage(target);
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
  if (storage == nullptr || !cuda::IsLoaded() || !cuda::IsCudaDevice(descriptor.layout->device.device_type) ||
      storage->nbytes == 0)
    return storage;
  const int32_t ordinal = cuda::OrdinalOf(descriptor.layout->device.device_type, descriptor.layout->device.device_id);
  cuda::StreamHandle stream = nullptr;
  if (table != nullptr && table->current_work_stream != nullptr) {
    void* current = nullptr;
    const auto type = static_cast<DLDeviceType>(descriptor.layout->device.device_type);
    if (table->current_work_stream(type, descriptor.layout->device.device_id, &current) != 0) {
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
