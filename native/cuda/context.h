// The CUDA state of one instance: the streams and events that its JavaScript made.
#pragma once

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

inline CudaContext* ContextOf(napi_env env, napi_callback_info info) {
  void* data = nullptr;
  napi_get_cb_info(env, info, nullptr, nullptr, nullptr, &data);
  return static_cast<CudaContext*>(data);
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

Owned* AddOwned(CudaContext* self, Stream* stream, Event* event);
void ReleaseOwned(Owned* owned);

// Any thread.
void ReleaseEvent(Event* event);

// All run on the JavaScript thread. Arguments and results are in a message of the wire.
// memory_binding.cc
napi_value AllocateBinding(napi_env env, napi_callback_info info);
napi_value ClearBinding(napi_env env, napi_callback_info info);
napi_value CopyBinding(napi_env env, napi_callback_info info);
napi_value CopyAsyncBinding(napi_env env, napi_callback_info info);
napi_value HandOverBinding(napi_env env, napi_callback_info info);
napi_value PointerAttributesBinding(napi_env env, napi_callback_info info);
// cast_binding.cc
napi_value CastBinding(napi_env env, napi_callback_info info);
// upload_binding.cc
napi_value UploadBinding(napi_env env, napi_callback_info info);
napi_value ReleasePinnedBinding(napi_env env, napi_callback_info info);
// array_binding.cc
napi_value AdmitBinding(napi_env env, napi_callback_info info);
napi_value FollowBinding(napi_env env, napi_callback_info info);
// ipc_binding.cc
napi_value AllocateShareableBinding(napi_env env, napi_callback_info info);
napi_value ShareMemoryBinding(napi_env env, napi_callback_info info);
napi_value ShareEventBinding(napi_env env, napi_callback_info info);
napi_value OpenMemoryBinding(napi_env env, napi_callback_info info);
napi_value FollowEventBinding(napi_env env, napi_callback_info info);
// stream_binding.cc
napi_value CreateStreamBinding(napi_env env, napi_callback_info info);
napi_value CreateEventBinding(napi_env env, napi_callback_info info);
napi_value ReleaseOwnedBinding(napi_env env, napi_callback_info info);
napi_value SetCurrentBinding(napi_env env, napi_callback_info info);
napi_value SynchronizeStreamBinding(napi_env env, napi_callback_info info);
napi_value SynchronizeEventBinding(napi_env env, napi_callback_info info);
napi_value SynchronizeDeviceBinding(napi_env env, napi_callback_info info);
napi_value QueryStreamBinding(napi_env env, napi_callback_info info);
napi_value QueryEventBinding(napi_env env, napi_callback_info info);
napi_value QueryDeviceBinding(napi_env env, napi_callback_info info);
napi_value RecordBinding(napi_env env, napi_callback_info info);
napi_value WaitBinding(napi_env env, napi_callback_info info);
napi_value OrderBinding(napi_env env, napi_callback_info info);
napi_value ElapsedBinding(napi_env env, napi_callback_info info);
napi_value IsCapturingBinding(napi_env env, napi_callback_info info);
napi_value WatchStreamBinding(napi_env env, napi_callback_info info);
napi_value WatchEventBinding(napi_env env, napi_callback_info info);

}  // namespace dlpack::cuda
