// The CUDA state of one instance: the streams and events that its JavaScript made.
#pragma once

#include "../async_work.h"
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

// A reference to a stream or an event that JavaScript holds.
struct Owned {
  Stream* stream;  // or
  Event* event;
};

// The CUDA state of one instance. A thread has one for each of its instances that use CUDA.
struct CudaContext {
  Instance* instance;
  HandleTable<Owned> owned;  // released when the environment ends
};

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

// Puts the caller's reference into the table and its handle into the message.
template <class Message>
inline Result HoldIn(const CudaContext* self, Storage* storage, bool report, Message* message) {
  message->handle = Hold(self->instance, storage, report);
  return message->handle == 0 ? kOutOfDeviceMemory : kSuccess;
}

// Queues a job after its memory was ordered. Frees the job instead if that failed, as the status of its message tells.
// Returns undefined, with the reason in the status, if the job was not queued.
template <class Job, class Message>
inline napi_value QueueJob(napi_env env, Job* job, Message* message) {
  if (message->status != kSuccess) {
    job->Free();
    return nullptr;
  }
  napi_value promise = QueueWork(env, job);
  if (promise == nullptr) message->status = kNotSupported;
  return promise;
}

// As Binding of wire.h, for a function that gets the device of its message and returns the status.
template <auto kFunction>
struct DeviceBinding;

template <class Message, Result (*kFunction)(CudaContext*, Message*, Device*)>
struct DeviceBinding<kFunction> {
  static napi_value Call(napi_env env, napi_callback_info info) {
    CudaContext* self = DataOf<CudaContext>(env, info);
    Message* message = MessageOf<Message>(self);
    Device* device = DeviceOf(message);
    if (device != nullptr) message->status = kFunction(self, message, device);
    return nullptr;
  }
};

// The same for a function that runs with the device as the current device.
template <class Message, Result (*kFunction)(Message*, const Device*)>
Result InContext(CudaContext*, Message* message, Device* device) {
  ContextScope scope(device);
  return kFunction(message, device);
}
template <class Message, Result (*kFunction)(Message*, const Device*)>
struct DeviceBinding<kFunction> : DeviceBinding<InContext<Message, kFunction>> {};

// The same for a function that works on the storage of its message, on its stream.
template <class Message, Result (*kFunction)(Storage*, const StreamRef&, Message*)>
Result OnStorage(CudaContext* self, Message* message, Device* device) {
  Storage* storage = GetHeld(self->instance, message->handle);
  return storage == nullptr ? kInvalidHandle : kFunction(storage, StreamRef{device, StreamOf(message)}, message);
}
template <class Message, Result (*kFunction)(Storage*, const StreamRef&, Message*)>
struct DeviceBinding<kFunction> : DeviceBinding<OnStorage<Message, kFunction>> {};

void ReleaseOwned(const Owned& owned);

// Any thread.
void ReleaseEvent(Event* event);

// The functions that JavaScript calls. Each table is in the file with its name.
extern const NamedFunction kMemoryFunctions[], kCastFunctions[], kUploadFunctions[], kIpcFunctions[],
    kStreamFunctions[];

}  // namespace dlpack::cuda
