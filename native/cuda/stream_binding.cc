// Streams and events for JavaScript. Arguments and results are in the frame. JavaScript thread.
#include <stdlib.h>

#include "../release_queue.h"
#include "context.h"
#include "watcher.h"

namespace dlpack {
namespace cuda {

// The owner in `address`, the handle in `stream`.
napi_value CreateStreamBinding(napi_env env, napi_callback_info info) {
  CudaContext* self = ContextOf(env, info);
  CudaFrame* frame = self->frame;
  Device* device = DeviceOf(frame);
  if (device == nullptr) return nullptr;
  Stream* stream = CreateStream(device, frame->flags, frame->priority, &frame->status);
  Owned* owned = stream == nullptr ? nullptr : AddOwned(self, stream, nullptr);
  if (stream != nullptr && owned == nullptr) {
    ReleaseStream(stream);
    frame->status = kOutOfDeviceMemory;
  }
  if (owned == nullptr) return nullptr;
  frame->address = reinterpret_cast<uint64_t>(owned);
  frame->stream = reinterpret_cast<uint64_t>(stream->handle);
  return nullptr;
}

// The owner in `address`, the handle in `event`.
napi_value CreateEventBinding(napi_env env, napi_callback_info info) {
  CudaContext* self = ContextOf(env, info);
  CudaFrame* frame = self->frame;
  const Device* device = DeviceOf(frame);
  if (device == nullptr) return nullptr;
  ContextScope scope(device);
  Event* event = static_cast<Event*>(calloc(1, sizeof(Event)));
  Owned* owned = event == nullptr ? nullptr : AddOwned(self, nullptr, event);
  if (owned == nullptr) {
    free(event);
    frame->status = kOutOfDeviceMemory;
    return nullptr;
  }
  event->refs.store(1, std::memory_order_relaxed);
  event->device = device;
  frame->status = driver.EventCreate(&event->handle, frame->flags);
  if (frame->status != kSuccess) {
    ReleaseOwned(owned);
    return nullptr;
  }
  frame->address = reinterpret_cast<uint64_t>(owned);
  frame->event = reinterpret_cast<uint64_t>(event->handle);
  return nullptr;
}

napi_value ReleaseOwnedBinding(napi_env env, napi_callback_info info) {
  ReleaseOwned(reinterpret_cast<Owned*>(ContextOf(env, info)->frame->address));
  return nullptr;
}

napi_value SetCurrentBinding(napi_env env, napi_callback_info info) {
  const CudaFrame* frame = ContextOf(env, info)->frame;
  SetCurrentStream(frame->device, StreamOf(frame));
  return nullptr;
}

// What `flags` names: 0 the stream, 1 the event, 2 the device.
static Result Synchronize(const CudaFrame* frame) {
  if (frame->flags == 1) return driver.EventSynchronize(reinterpret_cast<EventHandle>(frame->event));
  if (frame->flags == 2) return driver.CtxSynchronize();
  return driver.StreamSynchronize(StreamOf(frame));
}

napi_value SynchronizeBinding(napi_env env, napi_callback_info info) {
  return OnDevice(env, info, [](CudaFrame* frame, const Device*) { return Synchronize(frame); });
}

// What `flags` names: 0 the stream, 1 the event, 2 the device itself, by a stream that has nothing to do.
static Result Query(const CudaFrame* frame, const Device* device) {
  if (frame->flags == 1) return driver.EventQuery(reinterpret_cast<EventHandle>(frame->event));
  if (frame->flags != 2) return driver.StreamQuery(StreamOf(frame));
  RelaxedScope relaxed;
  return driver.StreamQuery(device->side_stream);
}

napi_value QueryBinding(napi_env env, napi_callback_info info) {
  return OnDevice(env, info, [](CudaFrame* frame, const Device* device) { return Query(frame, device); });
}

napi_value RecordBinding(napi_env env, napi_callback_info info) {
  return OnDevice(env, info, [](CudaFrame* frame, const Device*) {
    return driver.EventRecord(reinterpret_cast<EventHandle>(frame->event), StreamOf(frame));
  });
}

// The stream waits for the event.
napi_value WaitBinding(napi_env env, napi_callback_info info) {
  return OnDevice(env, info, [](CudaFrame* frame, const Device*) {
    return driver.StreamWaitEvent(StreamOf(frame), reinterpret_cast<EventHandle>(frame->event), 0);
  });
}

// The stream waits for another, whose handle is in `address`; `priority` is the device of that one.
napi_value OrderBinding(napi_env env, napi_callback_info info) {
  CudaFrame* frame = ContextOf(env, info)->frame;
  const Device* device = DeviceOf(frame);
  if (device == nullptr) return nullptr;
  const Device* other = GetDevice(frame->priority, &frame->status);
  if (other == nullptr) return nullptr;
  const StreamHandle awaited = Normalize(reinterpret_cast<StreamHandle>(frame->address));
  frame->status = OrderStreams(StreamRef{device, StreamOf(frame)}, StreamRef{other, awaited});
  return nullptr;
}

// Milliseconds from the event in `address` to the one in `event`.
napi_value ElapsedBinding(napi_env env, napi_callback_info info) {
  return OnDevice(env, info, [](CudaFrame* frame, const Device*) {
    float milliseconds = 0;
    const Result result = driver.EventElapsedTime(&milliseconds, reinterpret_cast<EventHandle>(frame->address),
                                                  reinterpret_cast<EventHandle>(frame->event));
    frame->number = milliseconds;
    return result;
  });
}

napi_value IsCapturingBinding(napi_env env, napi_callback_info info) {
  return OnDevice(env, info, [](CudaFrame* frame, const Device*) {
    frame->number = IsCapturing(StreamOf(frame)) ? 1 : 0;
    return Result{kSuccess};
  });
}

struct Wait {
  Storage* token;
  Event* event;  // NULL for the end of what a stream had
};

static void FinishWait(void* argument) {
  Wait* wait = static_cast<Wait*>(argument);
  if (wait->event != nullptr) ReleaseEvent(wait->event);
  ReleaseStorage(wait->token);
  free(wait);
}

// Has the function that JavaScript keeps under `number` called when what the stream has now, or with `flags` 1 what the
// event of the owner in `address` marks, is done or failed. Not when the status is an error: JavaScript takes it back
// then.
napi_value WatchBinding(napi_env env, napi_callback_info info) {
  CudaContext* self = ContextOf(env, info);
  CudaFrame* frame = self->frame;
  const Device* device = DeviceOf(frame);
  if (device == nullptr) return nullptr;
  frame->status = kOutOfDeviceMemory;
  Wait* wait = static_cast<Wait*>(calloc(1, sizeof(Wait)));
  // A storage of nothing: its release is what calls the function, from any thread and after the end of the environment.
  if (wait != nullptr) {
    wait->token = WrapQueued(self->instance->queue, static_cast<uint64_t>(frame->number), nullptr, 0);
  }
  if (wait == nullptr || wait->token == nullptr) {
    free(wait);
    return nullptr;
  }
  bool started = false;
  ContextScope scope(device);
  if (frame->flags == 1) {
    wait->event = reinterpret_cast<Owned*>(frame->address)->event;
    wait->event->refs.fetch_add(1, std::memory_order_relaxed);
    // One that was recorded into a graph never happens, and the watcher could not tell.
    RelaxedScope relaxed;
    frame->status = driver.EventQuery(wait->event->handle);
    if (frame->status == kNotReady) frame->status = kSuccess;
    started = frame->status == kSuccess && Watch(device, wait->event->handle, FinishWait, wait);
  } else if (IsCapturing(StreamOf(frame))) {
    frame->status = kStreamCaptureUnsupported;
  } else {
    EventHandle event = RecordEvent(device, StreamOf(frame), &frame->status);
    started = event != nullptr && WatchAndDestroy(device, event, FinishWait, wait);
    if (event != nullptr && !started) driver.EventDestroy(event);
  }
  if (started) return nullptr;
  if (frame->status == kSuccess) frame->status = kOutOfDeviceMemory;
  FinishWait(wait);
  return nullptr;
}

}  // namespace cuda
}  // namespace dlpack
