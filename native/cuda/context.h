// The CUDA state of one instance: the streams and events that its JavaScript made.
#pragma once

#include "../exports.h"
#include "../wire.h"
#include "streams.h"
#include "wire_layout.h"

namespace dlpack::cuda {

// An event that JavaScript made. Each wait for the event keeps a reference, too.
struct Event {
  std::atomic<uint32_t> refs;
  EventHandle handle;
  const Device* device;
};

// A stream or an event that JavaScript holds. The end of the environment releases them.
struct Owned {
  Owned* before;
  Owned* next;
  Stream* stream;  // or
  Event* event;
};

// The CUDA state of one instance. A thread has one for each of its instances that use CUDA.
struct CudaContext {
  Instance* instance;
  Owned owned;  // head of the ring
};

inline CudaContext* ContextOf(napi_env env, napi_callback_info info, napi_value* values = nullptr, size_t count = 1) {
  return DataOf<CudaContext>(env, info, values, count);
}

// The message of a call. Must be called first in the call, see wire.h.
template <class Message>
inline Message* MessageOf(const CudaContext* self) {
  return dlpack::MessageOf<Message>(self->instance);
}

template <class Message>
inline StreamHandle StreamOf(const Message* message) {
  return Normalize(reinterpret_cast<StreamHandle>(message->stream));
}

template <class Message>
inline EventHandle EventOf(const Message* message) {
  return reinterpret_cast<EventHandle>(message->event);
}

// The device of a message; NULL with the reason in its status.
template <class Message>
inline Device* DeviceOf(Message* message) {
  Result result;
  Device* device = GetDevice(message->device, &result);
  message->status = result;
  return device;
}

// The storage of a message; NULL with the reason in its status.
template <class Message>
inline Storage* StorageOf(const CudaContext* self, Message* message) {
  Storage* storage = GetHeld(self->instance, message->handle);
  if (storage == nullptr) message->status = kInvalidHandle;
  return storage;
}

// Puts the caller's reference into the table and its handle into the message.
template <class Message>
inline void HoldIn(const CudaContext* self, Storage* storage, bool report, Message* message) {
  message->handle = Hold(self->instance, storage, report);
  if (message->handle == 0) message->status = kOutOfDeviceMemory;
}

// Makes the device of a message current, calls `action(message, device)` and stores the result as the status.
template <class Message, class Action>
napi_value OnDevice(napi_env env, napi_callback_info info, Action action) {
  Message* message = MessageOf<Message>(ContextOf(env, info));
  const Device* device = DeviceOf(message);
  if (device == nullptr) return nullptr;
  ContextScope scope(device);
  message->status = action(message, device);
  return nullptr;
}

// Calls `action(storage, stream, message)` with the storage and the stream of a message, and stores the result as the
// status.
template <class Message, class Action>
napi_value OnStorage(napi_env env, napi_callback_info info, Action action) {
  CudaContext* self = ContextOf(env, info);
  Message* message = MessageOf<Message>(self);
  const Device* device = DeviceOf(message);
  Storage* storage = device == nullptr ? nullptr : StorageOf(self, message);
  if (storage != nullptr) message->status = action(storage, StreamRef{device, StreamOf(message)}, message);
  return nullptr;
}

Owned* AddOwned(CudaContext* self, Stream* stream, Event* event);
void ReleaseOwned(Owned* owned);

// Any thread.
void ReleaseEvent(Event* event);

// The functions that JavaScript calls: the name there, and the function. Arguments and results are in a message of the
// wire.
// clang-format off: its layout changes each time it runs.
#define DLPACK_CUDA_BINDINGS(X) \
  /* memory_binding.cc */ \
  X(allocate, AllocateBinding) \
  X(clear, ClearBinding) \
  X(copy, CopyBinding) \
  X(copyAsync, CopyAsyncBinding) \
  X(handOver, HandOverBinding) \
  X(pointerAttributes, PointerAttributesBinding) \
  /* cast_binding.cc */ \
  X(cast, CastBinding) \
  /* upload_binding.cc */ \
  X(upload, UploadBinding) \
  X(releasePinned, ReleasePinnedBinding) \
  /* array_binding.cc */ \
  X(admit, AdmitBinding) \
  X(follow, FollowBinding) \
  /* ipc_binding.cc */ \
  X(allocateShareable, AllocateShareableBinding) \
  X(shareMemory, ShareMemoryBinding) \
  X(shareEvent, ShareEventBinding) \
  X(openMemory, OpenMemoryBinding) \
  X(followEvent, FollowEventBinding) \
  /* stream_binding.cc */ \
  X(createStream, CreateStreamBinding) \
  X(createEvent, CreateEventBinding) \
  X(releaseOwned, ReleaseOwnedBinding) \
  X(setCurrent, SetCurrentBinding) \
  X(synchronizeStream, SynchronizeStreamBinding) \
  X(synchronizeEvent, SynchronizeEventBinding) \
  X(synchronizeDevice, SynchronizeDeviceBinding) \
  X(queryStream, QueryStreamBinding) \
  X(queryEvent, QueryEventBinding) \
  X(queryDevice, QueryDeviceBinding) \
  X(record, RecordBinding) \
  X(wait, WaitBinding) \
  X(order, OrderBinding) \
  X(elapsed, ElapsedBinding) \
  X(isCapturing, IsCapturingBinding) \
  X(watchStream, WatchStreamBinding) \
  X(watchEvent, WatchEventBinding)
// clang-format on
DLPACK_CUDA_BINDINGS(DLPACK_DECLARE)

}  // namespace dlpack::cuda
