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

// As Binding of wire.h, for a function that runs with the device of its message as the current device, and returns the
// status.
template <auto kFunction>
struct DeviceBinding;

template <class Message, Result (*kFunction)(Message*, const Device*)>
struct DeviceBinding<kFunction> {
  static napi_value Call(napi_env env, napi_callback_info info) {
    Message* message = MessageOf<Message>(ContextOf(env, info));
    const Device* device = DeviceOf(message);
    if (device == nullptr) return nullptr;
    ContextScope scope(device);
    message->status = kFunction(message, device);
    return nullptr;
  }
};

// The same for a function that works on the storage of its message, on its stream.
template <auto kFunction>
struct StorageBinding;

template <class Message, Result (*kFunction)(Storage*, const StreamRef&, Message*)>
struct StorageBinding<kFunction> {
  static napi_value Call(napi_env env, napi_callback_info info) {
    CudaContext* self = ContextOf(env, info);
    Message* message = MessageOf<Message>(self);
    const Device* device = DeviceOf(message);
    Storage* storage = device == nullptr ? nullptr : StorageOf(self, message);
    if (storage != nullptr) message->status = kFunction(storage, StreamRef{device, StreamOf(message)}, message);
    return nullptr;
  }
};

Owned* AddOwned(CudaContext* self, Stream* stream, Event* event);
void ReleaseOwned(Owned* owned);

// Any thread.
void ReleaseEvent(Event* event);

// The functions that JavaScript calls, with their names there. CALLBACK: a Node-API callback. REQUEST, DEVICE, STORAGE:
// a function that Binding, DeviceBinding or StorageBinding calls with its message.
// clang-format off: its layout changes each time it runs.
#define DLPACK_CUDA_BINDINGS(CALLBACK, REQUEST, DEVICE, STORAGE) \
  /* memory_binding.cc */ \
  REQUEST(allocate, AllocateBinding, DeviceAllocation) \
  STORAGE(clear, ClearBinding, StorageRequest) \
  CALLBACK(copy, CopyBinding) \
  CALLBACK(copyAsync, CopyAsyncBinding) \
  STORAGE(handOver, HandOverBinding, StorageRequest) \
  REQUEST(pointerAttributes, PointerAttributesBinding, PointerRequest) \
  /* cast_binding.cc */ \
  REQUEST(cast, CastBinding, CastStep) \
  /* upload_binding.cc */ \
  CALLBACK(upload, UploadBinding) \
  CALLBACK(releasePinned, ReleasePinnedBinding) \
  /* array_binding.cc */ \
  REQUEST(admit, AdmitBinding, AdmitRequest) \
  REQUEST(follow, FollowBinding, StorageRequest) \
  /* ipc_binding.cc */ \
  REQUEST(allocateShareable, AllocateShareableBinding, ShareableAllocation) \
  REQUEST(shareMemory, ShareMemoryBinding, ShareRequest) \
  DEVICE(shareEvent, ShareEventBinding, ShareEventRequest) \
  REQUEST(openMemory, OpenMemoryBinding, OpenRequest) \
  STORAGE(followEvent, FollowEventBinding, FollowEventRequest) \
  /* stream_binding.cc */ \
  REQUEST(createStream, CreateStreamBinding, CreateStreamRequest) \
  REQUEST(createEvent, CreateEventBinding, CreateEventRequest) \
  REQUEST(releaseOwned, ReleaseOwnedBinding, OwnerRequest) \
  REQUEST(setCurrent, SetCurrentBinding, CurrentRequest) \
  DEVICE(synchronizeStream, SynchronizeStreamBinding, StreamStateRequest) \
  DEVICE(synchronizeEvent, SynchronizeEventBinding, EventStateRequest) \
  DEVICE(synchronizeDevice, SynchronizeDeviceBinding, DeviceRequest) \
  DEVICE(queryStream, QueryStreamBinding, StreamStateRequest) \
  DEVICE(queryEvent, QueryEventBinding, EventStateRequest) \
  DEVICE(queryDevice, QueryDeviceBinding, DeviceRequest) \
  DEVICE(record, RecordBinding, MarkRequest) \
  DEVICE(wait, WaitBinding, MarkRequest) \
  REQUEST(order, OrderBinding, OrderRequest) \
  DEVICE(elapsed, ElapsedBinding, ElapsedRequest) \
  DEVICE(isCapturing, IsCapturingBinding, CaptureRequest) \
  REQUEST(watchStream, WatchStreamBinding, WatchStreamRequest) \
  REQUEST(watchEvent, WatchEventBinding, WatchEventRequest)
// clang-format on
#define DLPACK_DECLARE_REQUEST(name, function, Message) void function(CudaContext* self, Message* message);
#define DLPACK_DECLARE_DEVICE(name, function, Message) Result function(Message* message, const Device* device);
#define DLPACK_DECLARE_STORAGE(name, function, Message) \
  Result function(Storage* storage, const StreamRef& stream, Message* message);
DLPACK_CUDA_BINDINGS(DLPACK_DECLARE, DLPACK_DECLARE_REQUEST, DLPACK_DECLARE_DEVICE, DLPACK_DECLARE_STORAGE)
#undef DLPACK_DECLARE_REQUEST
#undef DLPACK_DECLARE_DEVICE
#undef DLPACK_DECLARE_STORAGE

}  // namespace dlpack::cuda
