// Device memory and copies for JavaScript. Arguments and results are in the frame. JavaScript thread.
#include <stdlib.h>

#include "../bindings.h"
#include "context.h"
#include "copy.h"
#include "memory.h"
#include "uses.h"

namespace dlpack {
namespace cuda {

napi_value AllocateBinding(napi_env env, napi_callback_info info) {
  CudaContext* self = ContextOf(env, info);
  CudaFrame* frame = self->frame;
  Device* device = DeviceOf(frame);
  if (device == nullptr) return nullptr;
  if (!IsSize(frame->nbytes)) {
    frame->status = kInvalidValue;
    return nullptr;
  }
  Storage* storage = AllocateMemory(static_cast<DLDeviceType>(frame->kind), device,
                                    static_cast<uint64_t>(frame->nbytes), StreamOf(frame), &frame->status);
  if (storage == nullptr) return nullptr;
  // The collector is told of memory that the host has less of, not of the device's.
  frame->handle = Hold(self->instance, storage, frame->kind != kDLCUDA);
  if (frame->handle == 0) frame->status = kOutOfDeviceMemory;
  return nullptr;
}

static Storage* StorageOf(CudaContext* self) {
  Storage* storage = GetHeld(self->instance, self->frame->handle);
  if (storage == nullptr) self->frame->status = kInvalidHandle;
  return storage;
}

// Zero bits in all of a storage, on the stream.
napi_value ClearBinding(napi_env env, napi_callback_info info) {
  CudaContext* self = ContextOf(env, info);
  CudaFrame* frame = self->frame;
  const Device* device = DeviceOf(frame);
  Storage* storage = device == nullptr ? nullptr : StorageOf(self);
  if (storage == nullptr || storage->nbytes == 0) return nullptr;
  ContextScope scope(device);
  const StreamHandle stream = StreamOf(frame);
  frame->status = OrderAfterUses(storage, StreamRef{device, stream});
  if (frame->status == kSuccess) {
    frame->status =
        driver.MemsetD8Async(reinterpret_cast<Address>(storage->data), 0, static_cast<size_t>(storage->nbytes), stream);
  }
  if (frame->status == kSuccess) frame->status = NoteUse(storage, StreamRef{device, stream});
  return nullptr;
}

// The stream may use the storage from now on.
napi_value HandOverBinding(napi_env env, napi_callback_info info) {
  CudaContext* self = ContextOf(env, info);
  const Device* device = DeviceOf(self->frame);
  Storage* storage = device == nullptr ? nullptr : StorageOf(self);
  if (storage == nullptr) return nullptr;
  const StreamHandle stream = StreamOf(self->frame);
  self->frame->status = Lend(storage, StreamRef{device, stream});
  return nullptr;
}

// One side of a copy: a storage of the table, or a Uint8Array.
struct Side {
  Storage* storage;  // NULL for an array
  char* data;
  uint64_t nbytes;
};

static bool FindSide(CudaContext* self, napi_env env, uint32_t handle, napi_value array, Side* side) {
  *side = Side{};
  if (handle != 0) {
    side->storage = GetHeld(self->instance, handle);
    if (side->storage == nullptr) return false;
    side->data = static_cast<char*>(side->storage->data);
    side->nbytes = side->storage->nbytes;
    return true;
  }
  napi_typedarray_type type;
  size_t length = 0;
  void* data = nullptr;
  if (napi_get_typedarray_info(env, array, &type, &length, &data, nullptr, nullptr) != napi_ok ||
      type != napi_uint8_array) {
    return false;
  }
  side->data = static_cast<char*>(data);
  side->nbytes = length;
  return true;
}

// Whether offset, steps and shape stay inside so many bytes. The frame is written by JavaScript: a mistake there must
// not become an address that the device follows.
static bool FitsInside(const CopyRequest& request, const int64_t* steps, int64_t offset, uint64_t nbytes) {
  int64_t low = offset;
  int64_t high = offset;
  if (__builtin_add_overflow(high, request.item, &high)) return false;
  for (int32_t i = 0; i < request.ndim; ++i) {
    int64_t reach;
    if (__builtin_mul_overflow(request.shape[i] - 1, steps[i], &reach)) return false;
    if (__builtin_add_overflow(reach < 0 ? low : high, reach, reach < 0 ? &low : &high)) return false;
  }
  return low >= 0 && static_cast<uint64_t>(high) <= nbytes;
}

static bool IsStep(double value) { return value >= -9007199254740991.0 && value <= 9007199254740991.0; }

static bool ReadRequest(const CudaFrame* frame, const Side& source, const Side& target, CopyRequest* request) {
  if (frame->ndim < 0 || frame->ndim > kMaxNdim || !IsSize(frame->source_offset) || !IsSize(frame->target_offset))
    return false;
  request->item = static_cast<int64_t>(frame->item);
  request->ndim = frame->ndim;
  request->is_source_reachable = frame->source_kind != kDLCPU;
  request->is_target_reachable = frame->target_kind != kDLCPU;
  if (request->item < 1 || request->item > 16 || (request->item & (request->item - 1)) != 0) return false;
  for (int32_t i = 0; i < frame->ndim; ++i) {
    if (!(frame->shape[i] >= 1) || !IsSize(frame->shape[i]) || !IsStep(frame->source_steps[i]) ||
        !IsStep(frame->target_steps[i]))
      return false;
    request->shape[i] = static_cast<int64_t>(frame->shape[i]);
    request->source_steps[i] = static_cast<int64_t>(frame->source_steps[i]);
    request->target_steps[i] = static_cast<int64_t>(frame->target_steps[i]);
  }
  const int64_t from = static_cast<int64_t>(frame->source_offset);
  const int64_t to = static_cast<int64_t>(frame->target_offset);
  if (!FitsInside(*request, request->source_steps, from, source.nbytes) ||
      !FitsInside(*request, request->target_steps, to, target.nbytes)) {
    return false;
  }
  request->source = source.data + from;
  request->target = target.data + to;
  return true;
}

// Plain host memory has no uses: the caller waits, or keeps it.
static bool HasUses(int32_t kind, const Side& side) { return kind != kDLCPU && side.storage != nullptr; }

static Result Run(Device* device, const CudaFrame* frame, const Side& source, const Side& target,
                  const CopyRequest& request, StreamHandle stream) {
  ContextScope scope(device);
  Result result = scope.result();
  const Side* sides[] = {&source, &target};
  const int32_t kinds[] = {frame->source_kind, frame->target_kind};
  for (int i = 0; i < 2 && result == kSuccess; ++i) {
    if (HasUses(kinds[i], *sides[i])) result = OrderAfterUses(sides[i]->storage, StreamRef{device, stream});
  }
  if (result == kSuccess) result = QueueCopy(device, request, stream);
  if (result == kNotSupported) return result;
  // Noted when it failed, too: some of its pieces may have been queued.
  for (int i = 0; i < 2; ++i) {
    const Result noted =
        HasUses(kinds[i], *sides[i]) ? NoteUse(sides[i]->storage, StreamRef{device, stream}) : kSuccess;
    if (result == kSuccess) result = noted;
  }
  return result;
}

// copy(source, target): queues it; arrays for sides that are no storage of the table.
napi_value CopyBinding(napi_env env, napi_callback_info info) {
  napi_value arrays[2];
  size_t count = 2;
  void* data = nullptr;
  napi_get_cb_info(env, info, &count, arrays, nullptr, &data);
  CudaContext* self = static_cast<CudaContext*>(data);
  CudaFrame* frame = self->frame;
  Device* device = DeviceOf(frame);
  if (device == nullptr) return nullptr;
  Side source, target;
  CopyRequest request;
  frame->status = kInvalidValue;
  if (!FindSide(self, env, frame->source_handle, arrays[0], &source) ||
      !FindSide(self, env, frame->target_handle, arrays[1], &target) || !ReadRequest(frame, source, target, &request)) {
    return nullptr;
  }
  frame->status = Run(device, frame, source, target, request, StreamOf(frame));
  return nullptr;
}

struct AsyncCopy {
  Device* device;
  StreamHandle stream;
  CopyRequest request;
  Storage* source;
  Storage* target;
  napi_async_work work;
  napi_deferred deferred;
  Result result;
};

// A thread of the runtime's pool: the driver blocks it while it moves memory that the device cannot reach by itself.
static void Execute(napi_env, void* data) {
  AsyncCopy* self = static_cast<AsyncCopy*>(data);
  ContextScope scope(self->device);
  RelaxedScope relaxed;
  self->result = scope.result();
  if (self->result == kSuccess) self->result = QueueCopy(self->device, self->request, self->stream);
  if (self->result != kSuccess) return;
  EventHandle event = RecordEvent(self->device, self->stream, &self->result);
  if (event == nullptr) {
    // Host memory that somebody pinned is still being read or written.
    driver.StreamSynchronize(self->stream);
    return;
  }
  self->result = driver.EventSynchronize(event);
  driver.EventDestroy(event);
}

// JavaScript thread.
static void Complete(napi_env env, napi_status, void* data) {
  AsyncCopy* self = static_cast<AsyncCopy*>(data);
  ReleaseStorage(self->source);
  ReleaseStorage(self->target);
  napi_value result;
  if (napi_create_int32(env, self->result, &result) == napi_ok) napi_resolve_deferred(env, self->deferred, result);
  napi_delete_async_work(env, self->work);
  free(self);
}

static napi_value Queue(napi_env env, AsyncCopy* copy) {
  napi_value promise, name;
  if (napi_create_promise(env, &copy->deferred, &promise) != napi_ok ||
      napi_create_string_utf8(env, "dlpack.cuda", NAPI_AUTO_LENGTH, &name) != napi_ok ||
      napi_create_async_work(env, nullptr, name, Execute, Complete, copy, &copy->work) != napi_ok) {
    return nullptr;
  }
  if (napi_queue_async_work(env, copy->work) == napi_ok) return promise;
  napi_delete_async_work(env, copy->work);
  return nullptr;
}

// copyAsync(): between two storages, one in plain host memory. A promise of the driver's result; undefined, with the
// reason in the status, when it did not start. Both are kept until then.
napi_value CopyAsyncBinding(napi_env env, napi_callback_info info) {
  CudaContext* self = ContextOf(env, info);
  CudaFrame* frame = self->frame;
  Device* device = DeviceOf(frame);
  if (device == nullptr) return nullptr;
  Side source, target;
  AsyncCopy* copy = static_cast<AsyncCopy*>(calloc(1, sizeof(AsyncCopy)));
  frame->status = kInvalidValue;
  if (copy == nullptr || !FindSide(self, env, frame->source_handle, nullptr, &source) ||
      !FindSide(self, env, frame->target_handle, nullptr, &target) ||
      !ReadRequest(frame, source, target, &copy->request)) {
    free(copy);
    return nullptr;
  }
  copy->device = device;
  // The stream of a thread is another one on the pool's.
  copy->stream = StreamOf(frame) == kPerThreadStream ? kLegacyStream : StreamOf(frame);
  copy->source = source.storage;
  copy->target = target.storage;
  copy->result = kNotReady;
  frame->status = kSuccess;
  Storage* sides[] = {source.storage, target.storage};
  const int32_t kinds[] = {frame->source_kind, frame->target_kind};
  for (int i = 0; i < 2 && frame->status == kSuccess; ++i) {
    if (kinds[i] == kDLCPU) continue;
    frame->status = OrderAfterUses(sides[i], StreamRef{device, copy->stream});
    if (frame->status == kSuccess) frame->status = NoteUse(sides[i], StreamRef{device, copy->stream});
  }
  RetainStorage(copy->source);
  RetainStorage(copy->target);
  napi_value promise = frame->status == kSuccess ? Queue(env, copy) : nullptr;
  if (promise != nullptr) return promise;
  if (frame->status == kSuccess) frame->status = kNotSupported;
  ReleaseStorage(copy->source);
  ReleaseStorage(copy->target);
  free(copy);
  return nullptr;
}

// All that the driver knows of an address, into `values`: context, memory type, device pointer, host pointer, managed,
// ordinal, start and size of the allocation.
napi_value PointerAttributesBinding(napi_env env, napi_callback_info info) {
  CudaFrame* frame = ContextOf(env, info)->frame;
  Context context = nullptr;
  MemoryType type = MemoryType{};
  Address device_pointer = 0;
  void* host_pointer = nullptr;
  uint32_t is_managed = 0;
  int32_t ordinal = -1;
  Address start = 0;
  size_t size = 0;
  PointerAttribute attributes[] = {kPointerContext,   kPointerMemoryType,    kPointerDevice,     kPointerHost,
                                   kPointerIsManaged, kPointerDeviceOrdinal, kPointerRangeStart, kPointerRangeSize};
  void* values[] = {&context, &type, &device_pointer, &host_pointer, &is_managed, &ordinal, &start, &size};
  frame->status = driver.PointerGetAttributes(8, attributes, values, frame->address);
  Result result;
  const Device* owner = frame->status == kSuccess && type != 0 && ordinal > 0 ? GetDevice(ordinal, &result) : nullptr;
  if (owner != nullptr) {
    // What the device calls it is known only in its context.
    ContextScope owner_scope(owner);
    driver.PointerGetAttributes(1, &attributes[2], &values[2], frame->address);
  }
  frame->values[0] = reinterpret_cast<uint64_t>(context);
  frame->values[1] = static_cast<uint64_t>(type);
  frame->values[2] = device_pointer;
  frame->values[3] = reinterpret_cast<uint64_t>(host_pointer);
  frame->values[4] = is_managed;
  frame->values[5] = static_cast<uint64_t>(static_cast<int64_t>(ordinal));
  frame->values[6] = start;
  frame->values[7] = size;
  return nullptr;
}

}  // namespace cuda
}  // namespace dlpack
