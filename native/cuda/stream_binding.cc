// Streams and events for JavaScript. JavaScript thread.
#include <stdlib.h>

#include "../release_queue.h"
#include "context.h"
#include "watcher.h"

namespace dlpack::cuda {

napi_value CreateStreamBinding(napi_env env, napi_callback_info info) {
  CudaContext* self = ContextOf(env, info);
  CreateStreamRequest* message = MessageOf<CreateStreamRequest>(self);
  Device* device = DeviceOf(message);
  if (device == nullptr) return nullptr;
  Stream* stream = CreateStream(device, message->is_non_blocking, message->priority, &message->status);
  Owned* owned = stream == nullptr ? nullptr : AddOwned(self, stream, nullptr);
  if (stream != nullptr && owned == nullptr) {
    ReleaseStream(stream);
    message->status = kOutOfDeviceMemory;
  }
  if (owned == nullptr) return nullptr;
  message->owner = reinterpret_cast<uint64_t>(owned);
  message->stream = reinterpret_cast<uint64_t>(stream->handle);
  return nullptr;
}

napi_value CreateEventBinding(napi_env env, napi_callback_info info) {
  CudaContext* self = ContextOf(env, info);
  CreateEventRequest* message = MessageOf<CreateEventRequest>(self);
  const Device* device = DeviceOf(message);
  if (device == nullptr) return nullptr;
  ContextScope scope(device);
  Event* event = static_cast<Event*>(calloc(1, sizeof(Event)));
  Owned* owned = event == nullptr ? nullptr : AddOwned(self, nullptr, event);
  if (owned == nullptr) {
    free(event);
    message->status = kOutOfDeviceMemory;
    return nullptr;
  }
  event->refs.store(1, std::memory_order_relaxed);
  event->device = device;
  message->status = driver.EventCreate(&event->handle, message->flags);
  if (message->status != kSuccess) {
    ReleaseOwned(owned);
    return nullptr;
  }
  message->owner = reinterpret_cast<uint64_t>(owned);
  message->event = reinterpret_cast<uint64_t>(event->handle);
  return nullptr;
}

napi_value ReleaseOwnedBinding(napi_env env, napi_callback_info info) {
  ReleaseOwned(reinterpret_cast<Owned*>(MessageOf<OwnerRequest>(ContextOf(env, info))->owner));
  return nullptr;
}

napi_value SetCurrentBinding(napi_env env, napi_callback_info info) {
  CurrentRequest* message = MessageOf<CurrentRequest>(ContextOf(env, info));
  message->before = reinterpret_cast<uint64_t>(CurrentStream(message->device));
  SetCurrentStream(message->device, StreamOf(message));
  return nullptr;
}

napi_value SynchronizeStreamBinding(napi_env env, napi_callback_info info) {
  return OnDevice<StreamStateRequest>(
      env, info, [](auto* message, const Device*) { return driver.StreamSynchronize(StreamOf(message)); });
}

napi_value SynchronizeEventBinding(napi_env env, napi_callback_info info) {
  return OnDevice<EventStateRequest>(
      env, info, [](auto* message, const Device*) { return driver.EventSynchronize(EventOf(message)); });
}

napi_value SynchronizeDeviceBinding(napi_env env, napi_callback_info info) {
  return OnDevice<DeviceRequest>(env, info, [](DeviceRequest*, const Device*) { return driver.CtxSynchronize(); });
}

napi_value QueryStreamBinding(napi_env env, napi_callback_info info) {
  return OnDevice<StreamStateRequest>(
      env, info, [](auto* message, const Device*) { return driver.StreamQuery(StreamOf(message)); });
}

napi_value QueryEventBinding(napi_env env, napi_callback_info info) {
  return OnDevice<EventStateRequest>(env, info,
                                     [](auto* message, const Device*) { return driver.EventQuery(EventOf(message)); });
}

// The state of the device itself, queried through an idle stream.
napi_value QueryDeviceBinding(napi_env env, napi_callback_info info) {
  return OnDevice<DeviceRequest>(env, info, [](DeviceRequest*, const Device* device) {
    RelaxedScope relaxed;
    return driver.StreamQuery(device->side_stream);
  });
}

napi_value RecordBinding(napi_env env, napi_callback_info info) {
  return OnDevice<MarkRequest>(
      env, info, [](auto* message, const Device*) { return driver.EventRecord(EventOf(message), StreamOf(message)); });
}

napi_value WaitBinding(napi_env env, napi_callback_info info) {
  return OnDevice<MarkRequest>(env, info, [](auto* message, const Device*) {
    return driver.StreamWaitEvent(StreamOf(message), EventOf(message), 0);
  });
}

napi_value OrderBinding(napi_env env, napi_callback_info info) {
  OrderRequest* message = MessageOf<OrderRequest>(ContextOf(env, info));
  const Device* device = DeviceOf(message);
  if (device == nullptr) return nullptr;
  const Device* other = GetDevice(message->awaited_device, &message->status);
  if (other == nullptr) return nullptr;
  const StreamHandle awaited = Normalize(reinterpret_cast<StreamHandle>(message->awaited));
  message->status = OrderStreams(StreamRef{device, StreamOf(message)}, StreamRef{other, awaited});
  return nullptr;
}

napi_value ElapsedBinding(napi_env env, napi_callback_info info) {
  return OnDevice<ElapsedRequest>(env, info, [](ElapsedRequest* message, const Device*) {
    float milliseconds = 0;
    const auto since = reinterpret_cast<EventHandle>(message->since);
    const Result result = driver.EventElapsedTime(&milliseconds, since, EventOf(message));
    message->milliseconds = milliseconds;
    return result;
  });
}

napi_value IsCapturingBinding(napi_env env, napi_callback_info info) {
  return OnDevice<CaptureRequest>(env, info, [](CaptureRequest* message, const Device*) {
    message->is_capturing = IsCapturing(StreamOf(message));
    return Result{kSuccess};
  });
}

struct Wait {
  Storage* token;
  Event* event;  // NULL: a wait for the work that a stream had
};

static void FinishWait(void* argument) {
  Wait* wait = static_cast<Wait*>(argument);
  if (wait->event != nullptr) ReleaseEvent(wait->event);
  ReleaseStorage(wait->token);
  free(wait);
}

// A wait that calls the function that JavaScript keeps under `pin` when it ends; NULL when out of memory.
static Wait* NewWait(const CudaContext* self, double pin) {
  Wait* wait = static_cast<Wait*>(calloc(1, sizeof(Wait)));
  if (wait == nullptr) return nullptr;
  // A storage without memory. Its release calls the function; this is safe on any thread, even after the end of the
  // environment.
  wait->token = WrapQueued(self->instance->queue, static_cast<uint64_t>(pin), nullptr, 0);
  if (wait->token != nullptr) return wait;
  free(wait);
  return nullptr;
}

// Starts a wait with `start(message, device, wait)`, which returns whether the watcher took it over. A wait that did
// not start has an error as its status, so that JavaScript drops its function.
template <class Request, class Start>
static napi_value StartWait(napi_env env, napi_callback_info info, Start start) {
  CudaContext* self = ContextOf(env, info);
  Request* message = MessageOf<Request>(self);
  const Device* device = DeviceOf(message);
  if (device == nullptr) return nullptr;
  Wait* wait = NewWait(self, message->pin);
  if (wait == nullptr) {
    message->status = kOutOfDeviceMemory;
    return nullptr;
  }
  ContextScope scope(device);
  if (start(message, device, wait)) return nullptr;
  if (message->status == kSuccess) message->status = kOutOfDeviceMemory;
  FinishWait(wait);
  return nullptr;
}

napi_value WatchStreamBinding(napi_env env, napi_callback_info info) {
  return StartWait<WatchStreamRequest>(env, info, [](WatchStreamRequest* message, const Device* device, Wait* wait) {
    if (IsCapturing(StreamOf(message))) {
      message->status = kStreamCaptureUnsupported;
      return false;
    }
    EventHandle event = RecordEvent(device, StreamOf(message), &message->status);
    if (event == nullptr) return false;
    if (WatchAndDestroy(device, event, FinishWait, wait)) return true;
    driver.EventDestroy(event);
    return false;
  });
}

napi_value WatchEventBinding(napi_env env, napi_callback_info info) {
  return StartWait<WatchEventRequest>(env, info, [](WatchEventRequest* message, const Device* device, Wait* wait) {
    wait->event = reinterpret_cast<Owned*>(message->owner)->event;
    wait->event->refs.fetch_add(1, std::memory_order_relaxed);
    // An event that was recorded into a graph never happens, and the watcher could not detect this.
    RelaxedScope relaxed;
    message->status = driver.EventQuery(wait->event->handle);
    if (message->status == kNotReady) message->status = kSuccess;
    return message->status == kSuccess && Watch(device, wait->event->handle, FinishWait, wait);
  });
}

}  // namespace dlpack::cuda
