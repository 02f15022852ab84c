// Streams and events for JavaScript. JavaScript thread.
#include <stdlib.h>

#include "../release_queue.h"
#include "context.h"
#include "watcher.h"

namespace dlpack::cuda {

// Puts a reference into the table and its number into the message.
template <class Message>
static Result OwnIn(CudaContext* self, const Owned& owned, Message* message) {
  message->owner = self->owned.Add(owned);
  if (message->owner != 0) return kSuccess;
  ReleaseOwned(owned);
  return kOutOfDeviceMemory;
}

static Result CreateStreamBinding(CudaContext* self, CreateStreamRequest* message, Device* device) {
  Result result;
  Stream* stream = CreateStream(device, message->is_non_blocking, message->priority, &result);
  if (stream == nullptr) return result;
  message->stream = reinterpret_cast<uint64_t>(stream->handle);
  return OwnIn(self, Owned{stream, nullptr}, message);
}

static Result CreateEventBinding(CudaContext* self, CreateEventRequest* message, Device* device) {
  ContextScope scope(device);
  EventHandle handle = nullptr;
  const Result result = driver.EventCreate(&handle, message->flags);
  if (result != kSuccess) return result;
  Event* event = static_cast<Event*>(calloc(1, sizeof(Event)));
  if (event == nullptr) {
    driver.EventDestroy(handle);
    return kOutOfDeviceMemory;
  }
  event->refs.store(1, std::memory_order_relaxed);
  event->handle = handle;
  event->device = device;
  message->event = reinterpret_cast<uint64_t>(handle);
  return OwnIn(self, Owned{nullptr, event}, message);
}

// releaseOwned(owner)
static void ReleaseOwnedBinding(CudaContext* self, napi_env env, napi_value owner) {
  Owned owned;
  if (self->owned.Remove(NumberIn(env, owner), &owned)) ReleaseOwned(owned);
}

static void SetCurrentBinding(CudaContext*, CurrentRequest* message) {
  message->status = kSuccess;
  message->before = reinterpret_cast<uint64_t>(CurrentStream(message->device));
  SetCurrentStream(message->device, StreamOf(message));
}

template <auto kCall>
static Result OnStream(MarkRequest* message, const Device*) {
  return (driver.*kCall)(StreamOf(message));
}

template <auto kCall>
static Result OnEvent(MarkRequest* message, const Device*) {
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

static Result OrderBinding(CudaContext*, OrderRequest* message, Device* device) {
  Result result;
  const Device* other = GetDevice(message->awaited_device, &result);
  if (other == nullptr) return result;
  const StreamHandle awaited = Normalize(reinterpret_cast<StreamHandle>(message->awaited));
  return OrderStreams(StreamRef{device, StreamOf(message)}, StreamRef{other, awaited});
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

// Hands a wait to the watcher, for an event that JavaScript made or for the work that a stream has now. The device's
// context is current.
static Result StartWait(CudaContext* self, const WatchRequest& message, const Device* device, Wait* wait) {
  if (message.owner == 0) {
    if (IsCapturing(StreamOf(&message))) return kStreamCaptureUnsupported;
    Result result;
    EventHandle event = RecordEvent(device, StreamOf(&message), &result);
    if (event == nullptr) return result;
    if (Watch(device, event, true, FinishWait, wait)) return kSuccess;
    driver.EventDestroy(event);
    return kOutOfDeviceMemory;
  }
  const Owned* owned = self->owned.Find(message.owner);
  if (owned == nullptr || owned->event == nullptr) return kInvalidHandle;
  wait->event = owned->event;
  wait->event->refs.fetch_add(1, std::memory_order_relaxed);
  // An event that was recorded into a graph never happens, and the watcher could not detect this.
  RelaxedScope relaxed;
  const Result state = driver.EventQuery(wait->event->handle);
  if (state != kSuccess && state != kNotReady) return state;
  return Watch(device, wait->event->handle, false, FinishWait, wait) ? kSuccess : kOutOfDeviceMemory;
}

// A wait that did not start has an error as its status, so that JavaScript drops its function.
static Result WatchBinding(CudaContext* self, WatchRequest* message, Device* device) {
  Wait* wait = NewWait(self, message->pin);
  if (wait == nullptr) return kOutOfDeviceMemory;
  ContextScope scope(device);
  const Result result = StartWait(self, *message, device, wait);
  if (result != kSuccess) FinishWait(wait);
  return result;
}

const NamedFunction kStreamFunctions[] = {
    {"createStream", DeviceBinding<CreateStreamBinding>::Call},
    {"createEvent", DeviceBinding<CreateEventBinding>::Call},
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
    {"order", DeviceBinding<OrderBinding>::Call},
    {"elapsed", DeviceBinding<ElapsedBinding>::Call},
    {"isCapturing", DeviceBinding<IsCapturingBinding>::Call},
    {"watch", DeviceBinding<WatchBinding>::Call},
    {}};

}  // namespace dlpack::cuda
