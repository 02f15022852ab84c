// Device memory and copies for JavaScript. JavaScript thread.
#include <stdlib.h>

#include "../async_work.h"
#include "../bindings.h"
#include "context.h"
#include "copy.h"
#include "imports.h"
#include "memory.h"
#include "uses.h"

namespace dlpack::cuda {

static Result AllocateBinding(CudaContext* self, DeviceAllocation* message, Device* device) {
  if (!IsSize(message->nbytes)) return kInvalidValue;
  const uint64_t nbytes = static_cast<uint64_t>(message->nbytes);
  const auto type = static_cast<DLDeviceType>(message->device_type);
  Result result;
  Storage* storage = message->is_shareable != 0 ? AllocateShareable(device, nbytes, &result)
                                                : AllocateMemory(type, device, nbytes, StreamOf(message), &result);
  // Only memory that uses host memory is reported to the garbage collector, not device memory.
  return storage == nullptr ? result : HoldIn(self, storage, type != kDLCUDA, message);
}

// Fills the last bytes of a storage with zero bits, on the stream.
static Result ClearBinding(Storage* storage, const StreamRef& stream, StorageRequest* message) {
  if (!IsSize(message->cleared) || message->cleared > static_cast<double>(storage->nbytes)) return kInvalidValue;
  const size_t count = static_cast<size_t>(message->cleared);
  if (count == 0) return kSuccess;
  const Address start = reinterpret_cast<Address>(storage->data) + storage->nbytes - count;
  return UseOnStream(stream, {storage}, [&] { return driver.MemsetD8Async(start, 0, count, stream.handle); });
}

// Makes the storage ready for work on the stream from now on.
static Result HandOverBinding(Storage* storage, const StreamRef& stream, StorageRequest*) {
  return Lend(storage, stream);
}

static bool ReadStep(const CopyStep* step, const NamedMemory& source, const NamedMemory& target, CopyRequest* request) {
  if (!source.is_valid() || !target.is_valid()) return false;
  if (step->ndim < 0 || step->ndim > kMaxNdim || !IsSize(step->from_offset) || !IsSize(step->to_offset)) return false;
  if (!(step->item_bytes >= 1 && step->item_bytes <= 16)) return false;
  request->item = static_cast<int64_t>(step->item_bytes);
  request->ndim = step->ndim;
  request->is_source_reachable = step->from_type != kDLCPU;
  request->is_target_reachable = step->to_type != kDLCPU;
  if ((request->item & (request->item - 1)) != 0) return false;
  if (!ReadNumbers(step->shape, step->ndim, request->shape) ||
      !ReadNumbers(step->from_steps, step->ndim, request->source_steps) ||
      !ReadNumbers(step->to_steps, step->ndim, request->target_steps)) {
    return false;
  }
  for (int32_t i = 0; i < step->ndim; ++i) {
    if (request->shape[i] < 1) return false;
  }
  const int64_t from = static_cast<int64_t>(step->from_offset);
  const int64_t to = static_cast<int64_t>(step->to_offset);
  if (!FitsInside(request->ndim, request->shape, request->source_steps, from, request->item, source.nbytes) ||
      !FitsInside(request->ndim, request->shape, request->target_steps, to, request->item, target.nbytes)) {
    return false;
  }
  request->source = reinterpret_cast<char*>(source.data + from);
  request->target = reinterpret_cast<char*>(target.data + to);
  return true;
}

// The storage of a side, if it has uses. Plain host memory has none, because the caller waits for the copy or keeps the
// memory.
static Storage* UsedBy(int32_t device_type, const NamedMemory& side) {
  return device_type == kDLCPU ? nullptr : side.storage;
}

// copy(source, target): queues a copy. An argument is an array for a side that is not a storage in the table.
static void CopyBinding(CudaContext* self, CopyStep* step, napi_env, napi_value from, napi_value to) {
  Device* device = DeviceOf(step);
  if (device == nullptr) return;
  const NamedMemory source(self->instance, step->from_handle, from), target(self->instance, step->to_handle, to);
  CopyRequest request;
  step->status = kInvalidValue;
  if (!ReadStep(step, source, target, &request)) return;
  const StreamRef stream = {device, StreamOf(step)};
  step->status = UseOnStream(stream, {UsedBy(step->from_type, source), UsedBy(step->to_type, target)},
                             [&] { return QueueCopy(device, request, stream.handle); });
}

// Keeps both storages.
struct AsyncCopy {
  Device* device;
  StreamHandle stream;
  CopyRequest request;
  Storage* source;
  Storage* target;
  AsyncWork work;
  Result result;

  // On a thread of the runtime's pool, because the driver blocks while it copies memory that the device cannot access.
  void Run() {
    RelaxedContextScope scope(device);
    result = scope.result();
    if (result == kSuccess) result = QueueCopy(device, request, stream);
    if (result != kSuccess) return;
    EventHandle event = RecordEvent(device, stream, &result);
    if (event == nullptr) {
      // If the host memory is pinned by other code, the device may still read or write it.
      driver.StreamSynchronize(stream);
      return;
    }
    result = driver.EventSynchronize(event);
    driver.EventDestroy(event);
  }
  napi_value ResultOf(napi_env env, napi_status) { return NewNumber(env, result); }
  void Free() {
    ReleaseStorage(source);
    ReleaseStorage(target);
    free(this);
  }
};

// copyAsync(): copies between two storages, one of them in plain host memory. A promise of the driver's result, or
// undefined with the reason in the status if the copy did not start.
static napi_value CopyAsyncBinding(CudaContext* self, CopyStep* step, napi_env env) {
  Device* device = DeviceOf(step);
  if (device == nullptr) return nullptr;
  const NamedMemory source(self->instance, step->from_handle, nullptr);
  const NamedMemory target(self->instance, step->to_handle, nullptr);
  CopyRequest request;
  step->status = kInvalidValue;
  void* block = ReadStep(step, source, target, &request) ? malloc(sizeof(AsyncCopy)) : nullptr;
  if (block == nullptr) return nullptr;
  // On a thread of the pool the per-thread handle would mean that thread's stream.
  const StreamHandle stream = StreamOf(step) == kPerThreadStream ? kLegacyStream : StreamOf(step);
  AsyncCopy* copy = static_cast<AsyncCopy*>(block);
  *copy = AsyncCopy{device, stream, request, source.storage, target.storage, {}, kNotReady};
  RetainStorage(source.storage);
  RetainStorage(target.storage);
  step->status = kSuccess;
  for (Storage* storage : {UsedBy(step->from_type, source), UsedBy(step->to_type, target)}) {
    if (step->status == kSuccess && storage != nullptr) step->status = BeginUse(storage, {device, stream});
  }
  return QueueJob(env, copy, step);
}

// The driver writes to the message.
static void PointerAttributesBinding(CudaContext*, PointerRequest* message) {
  *message = PointerRequest{0, -1, 0, 0, message->address, 0, 0, 0, 0, 0};
  PointerAttribute attributes[] = {kPointerContext,   kPointerMemoryType,    kPointerDevice,     kPointerHost,
                                   kPointerIsManaged, kPointerDeviceOrdinal, kPointerRangeStart, kPointerRangeSize};
  void* values[] = {&message->context,    &message->memory_type, &message->device_pointer, &message->host_pointer,
                    &message->is_managed, &message->device,      &message->range_start,    &message->range_size};
  message->status = driver.PointerGetAttributes(8, attributes, values, message->address);
  Result result;
  const bool is_known = message->status == kSuccess && message->memory_type != 0;
  const Device* owner = is_known && message->device > 0 ? GetDevice(message->device, &result) : nullptr;
  if (owner != nullptr) {
    // The driver knows the device pointer only in the device's context.
    ContextScope owner_scope(owner);
    driver.PointerGetAttributes(1, &attributes[2], &values[2], message->address);
  }
}

// Foreign memory by its address, for the CUDA Array Interface.
static void AdmitBinding(CudaContext* self, AdmitRequest* message) {
  message->is_admitted = 0;
  Storage* storage = GetHeld(self->instance, message->handle);
  message->status = kInvalidHandle;
  if (storage == nullptr) return;
  Location location;
  message->status = FindLocation(message->address, &location);
  if (message->status != kSuccess) return;
  message->device_type = location.kind;
  message->range_start = location.start;
  message->range_size = location.size;
  if (location.kind == 0) return;
  // Pinned and managed memory belongs to no device. Work on it is queued on a stream of device 0.
  message->device_id = location.kind == kDLCUDA ? location.ordinal : 0;
  const int64_t low = static_cast<int64_t>(message->low);
  const int64_t high = static_cast<int64_t>(message->high);
  const uint64_t before = message->address - location.start;
  uint64_t end;
  const bool fits = !__builtin_add_overflow(message->address, static_cast<uint64_t>(high), &end) &&
                    (location.size == 0 || (static_cast<uint64_t>(-low) <= before && before <= location.size &&
                                            static_cast<uint64_t>(high) <= location.size - before));
  if (!fits) return;
  storage->data = reinterpret_cast<void*>(message->address + static_cast<uint64_t>(low));
  storage->nbytes = static_cast<uint64_t>(high - low);
  message->status =
      FollowProducer(storage, location.ordinal, message->device_id, reinterpret_cast<StreamHandle>(message->stream));
  message->is_admitted = message->status == kSuccess;
}

// For a storage of foreign memory that is ready for work queued on the stream from now on. Our current stream of the
// device waits for that stream, and our work on other streams waits for our current stream.
static Result FollowBinding(Storage* storage, const StreamRef& stream, StorageRequest* message) {
  return FollowProducer(storage, message->device, message->device, stream.handle);
}

const NamedFunction kMemoryFunctions[] = {{"allocate", DeviceBinding<AllocateBinding>::Call},
                                          {"clear", DeviceBinding<ClearBinding>::Call},
                                          {"copy", Binding<CopyBinding>::Call},
                                          {"copyAsync", Binding<CopyAsyncBinding>::Call},
                                          {"handOver", DeviceBinding<HandOverBinding>::Call},
                                          {"pointerAttributes", Binding<PointerAttributesBinding>::Call},
                                          {"admit", Binding<AdmitBinding>::Call},
                                          {"follow", DeviceBinding<FollowBinding>::Call},
                                          {}};

}  // namespace dlpack::cuda
