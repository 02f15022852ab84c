// Streams and events for JavaScript. JavaScript thread.
#include <stdlib.h>

#include "../release_queue.h"
#include "context.h"
#include "watcher.h"

namespace dlpack::cuda {

// Puts a reference into the table and its number into the message.
template <class Message>
static void OwnIn(CudaContext* self, const Owned& owned, Message* message) {
  message->owner = self->owned.Add(owned);
  if (message->owner != 0) return;
  ReleaseOwned(owned);
  message->status = kOutOfDeviceMemory;
}

static void CreateStreamBinding(CudaContext* self, CreateStreamRequest* message) {
  Device* device = DeviceOf(message);
  if (device == nullptr) return;
  Stream* stream = CreateStream(device, message->is_non_blocking, message->priority, &message->status);
  if (stream == nullptr) return;
  message->stream = reinterpret_cast<uint64_t>(stream->handle);
  OwnIn(self, Owned{stream, nullptr}, message);
}

static void CreateEventBinding(CudaContext* self, CreateEventRequest* message) {
  const Device* device = DeviceOf(message);
  if (device == nullptr) return;
  ContextScope scope(device);
  EventHandle handle = nullptr;
  message->status = driver.EventCreate(&handle, message->flags);
  if (message->status != kSuccess) return;
  Event* event = static_cast<Event*>(calloc(1, sizeof(Event)));
  if (event == nullptr) {
    driver.EventDestroy(handle);
    message->status = kOutOfDeviceMemory;
    return;
  }
  event->refs.store(1, std::memory_order_relaxed);
  event->handle = handle;
  event->device = device;
  message->event = reinterpret_cast<uint64_t>(handle);
  OwnIn(self, Owned{nullptr, event}, message);
}

static void ReleaseOwnedBinding(CudaContext* self, OwnerRequest* message) {
  Owned owned;
  if (self->owned.Remove(message->owner, &owned)) ReleaseOwned(owned);
}

static void SetCurrentBinding(CudaContext*, CurrentRequest* message) {
  message->before = reinterpret_cast<uint64_t>(CurrentStream(message->device));
  SetCurrentStream(message->device, StreamOf(message));
}

template <auto kCall>
static Result OnStream(StreamStateRequest* message, const Device*) {
  return (driver.*kCall)(StreamOf(message));
}

template <auto kCall>
static Result OnEvent(EventStateRequest* message, const Device*) {
  return (driver.*kCall)(EventOf(message));
}

static Result SynchronizeDeviceBinding(DeviceRequest*, const Device*) { return driver.CtxSynchronize(); }

// The state of the device itself, queried through an idle stream.
static Result QueryDeviceBinding(DeviceRequest*, const Device* device) {
  RelaxedScope relaxed;
  return driver.StreamQuery(device->side_stream);
}

static Result RecordBinding(MarkRequest* message, const Device*) {
  return driver.EventRecord(EventOf(message), StreamOf(message));
}

static Result WaitBinding(MarkRequest* message, const Device*) {
  return driver.StreamWaitEvent(StreamOf(message), EventOf(message), 0);
}

static void OrderBinding(CudaContext*, OrderRequest* message) {
  const Device* device = DeviceOf(message);
  if (device == nullptr) return;
  const Device* other = GetDevice(message->awaited_device, &message->status);
  if (other == nullptr) return;
  const StreamHandle awaited = Normalize(reinterpret_cast<StreamHandle>(message->awaited));
  message->status = OrderStreams(StreamRef{device, StreamOf(message)}, StreamRef{other, awaited});
}

static Result ElapsedBinding(ElapsedRequest* message, const Device*) {
  float milliseconds = 0;
  const auto since = reinterpret_cast<EventHandle>(message->since);
  const Result result = driver.EventElapsedTime(&milliseconds, since, EventOf(message));
  message->milliseconds = milliseconds;
  return result;
}

static Result IsCapturingBinding(CaptureRequest* message, const Device*) {
  message->is_capturing = IsCapturing(StreamOf(message));
  return kSuccess;
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

// Starts a wait with `start(device, wait)`, which returns whether the watcher took it over. A wait that did not start
// has an error as its status, so that JavaScript drops its function.
template <class Request, class Start>
static void StartWait(CudaContext* self, Request* message, Start start) {
  const Device* device = DeviceOf(message);
  if (device == nullptr) return;
  Wait* wait = NewWait(self, message->pin);
  if (wait == nullptr) {
    message->status = kOutOfDeviceMemory;
    return;
  }
  ContextScope scope(device);
  if (start(device, wait)) return;
  if (message->status == kSuccess) message->status = kOutOfDeviceMemory;
  FinishWait(wait);
}

static void WatchStreamBinding(CudaContext* self, WatchStreamRequest* message) {
  StartWait(self, message, [message](const Device* device, Wait* wait) {
    if (IsCapturing(StreamOf(message))) {
      message->status = kStreamCaptureUnsupported;
      return false;
    }
    EventHandle event = RecordEvent(device, StreamOf(message), &message->status);
    if (event == nullptr) return false;
    if (Watch(device, event, true, FinishWait, wait)) return true;
    driver.EventDestroy(event);
    return false;
  });
}

static void WatchEventBinding(CudaContext* self, WatchEventRequest* message) {
  StartWait(self, message, [self, message](const Device* device, Wait* wait) {
    const Owned* owned = self->owned.Find(message->owner);
    if (owned == nullptr || owned->event == nullptr) {
      message->status = kInvalidHandle;
      return false;
    }
    wait->event = owned->event;
    wait->event->refs.fetch_add(1, std::memory_order_relaxed);
    // An event that was recorded into a graph never happens, and the watcher could not detect this.
    RelaxedScope relaxed;
    message->status = driver.EventQuery(wait->event->handle);
    if (message->status == kNotReady) message->status = kSuccess;
    return message->status == kSuccess && Watch(device, wait->event->handle, false, FinishWait, wait);
  });
}

const NamedFunction kStreamFunctions[] = {
    {"createStream", Binding<CreateStreamBinding>::Call},
    {"createEvent", Binding<CreateEventBinding>::Call},
    {"releaseOwned", Binding<ReleaseOwnedBinding>::Call},
    {"setCurrent", Binding<SetCurrentBinding>::Call},
    {"synchronizeStream", DeviceBinding<OnStream<&DriverTable::StreamSynchronize>>::Call},
    {"synchronizeEvent", DeviceBinding<OnEvent<&DriverTable::EventSynchronize>>::Call},
    {"synchronizeDevice", DeviceBinding<SynchronizeDeviceBinding>::Call},
    {"queryStream", DeviceBinding<OnStream<&DriverTable::StreamQuery>>::Call},
    {"queryEvent", DeviceBinding<OnEvent<&DriverTable::EventQuery>>::Call},
    {"queryDevice", DeviceBinding<QueryDeviceBinding>::Call},
    {"record", DeviceBinding<RecordBinding>::Call},
    {"wait", DeviceBinding<WaitBinding>::Call},
    {"order", Binding<OrderBinding>::Call},
    {"elapsed", DeviceBinding<ElapsedBinding>::Call},
    {"isCapturing", DeviceBinding<IsCapturingBinding>::Call},
    {"watchStream", Binding<WatchStreamBinding>::Call},
    {"watchEvent", Binding<WatchEventBinding>::Call},
    {}};

}  // namespace dlpack::cuda
