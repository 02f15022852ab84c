// Streams and events for JavaScript. JavaScript thread.
#include <stdlib.h>

#include "../../memory/release_queue.h"
#include "../context.h"
#include "watcher.h"

namespace dlpack::cuda {

// Puts a reference into the table. Returns the driver's handle and the number in the table, as Made of
// src/cuda/binding.ts.
static napi_value OwnIn(CudaContext* self, napi_env env, const Owned& owned, void* handle) {
  const uint32_t number = self->owned.Add(owned);
  if (number == 0) ReleaseOwned(owned);
  return Answer(env, number == 0 ? kOutOfDeviceMemory : kSuccess,
                {NewBigInt(env, reinterpret_cast<uint64_t>(handle)), NewNumber(env, number)});
}

// createStream(device, isNonBlocking, priority)
static napi_value CreateStreamBinding(CudaContext* self, napi_env env, Device* device, bool is_non_blocking,
                                      int32_t priority) {
  Result result;
  Stream* stream = CreateStream(device, is_non_blocking ? kStreamNonBlocking : kStreamDefault, priority, &result);
  return stream == nullptr ? NewNumber(env, result) : OwnIn(self, env, Owned{stream, nullptr}, stream->handle);
}

// createEvent(device, flags)
static napi_value CreateEventBinding(CudaContext* self, napi_env env, Device* device, uint32_t flags) {
  ContextScope scope(device);
  EventHandle handle = nullptr;
  const Result result = driver.EventCreate(&handle, flags);
  if (result != kSuccess) return NewNumber(env, result);
  Event* event = static_cast<Event*>(calloc(1, sizeof(Event)));
  if (event == nullptr) {
    driver.EventDestroy(handle);
    return NewNumber(env, kOutOfDeviceMemory);
  }
  event->refs.store(1, std::memory_order_relaxed);
  event->handle = handle;
  event->device = device;
  return OwnIn(self, env, Owned{nullptr, event}, handle);
}

// releaseOwned(owner)
static void ReleaseOwnedBinding(CudaContext* self, napi_env, uint32_t owner) {
  Owned owned;
  if (self->owned.Remove(owner, &owned)) ReleaseOwned(owned);
}

// setCurrent(device, stream): returns the previous current stream of this thread.
static uint64_t SetCurrentBinding(CudaContext*, napi_env, int32_t device, StreamHandle stream) {
  const StreamHandle before = CurrentStream(device);
  SetCurrentStream(device, Normalize(stream));
  return reinterpret_cast<uint64_t>(before);
}

// For functions of the driver that take a stream, or an event.
template <auto kCall>
static Result OnStream(CudaContext*, Device* device, StreamHandle stream) {
  ContextScope scope(device);
  return (driver.*kCall)(Normalize(stream));
}

template <auto kCall>
static Result OnEvent(CudaContext*, Device* device, EventHandle event) {
  ContextScope scope(device);
  return (driver.*kCall)(event);
}

static Result SynchronizeDeviceBinding(CudaContext*, Device* device) {
  ContextScope scope(device);
  return driver.CtxSynchronize();
}

// The state of the device itself, queried through an idle stream.
static Result QueryDeviceBinding(CudaContext*, Device* device) {
  ContextScope scope(device);
  RelaxedScope relaxed;
  return driver.StreamQuery(device->side_stream);
}

// record(device, stream, event)
static Result RecordBinding(CudaContext*, Device* device, StreamHandle stream, EventHandle event) {
  ContextScope scope(device);
  return driver.EventRecord(event, Normalize(stream));
}

// wait(device, stream, event)
static Result WaitBinding(CudaContext*, Device* device, StreamHandle stream, EventHandle event) {
  ContextScope scope(device);
  return driver.StreamWaitEvent(Normalize(stream), event, 0);
}

// order(device, stream, awaitedDevice, awaited): the stream waits for the work that the other stream has now.
static Result OrderBinding(CudaContext*, Device* device, StreamHandle stream, int32_t awaited_device,
                           StreamHandle awaited) {
  Result result;
  const Device* other = GetDevice(awaited_device, &result);
  if (other == nullptr) return result;
  return OrderStreams(StreamRef{device, Normalize(stream)}, StreamRef{other, Normalize(awaited)});
}

// elapsed(device, since, event): [milliseconds]
static napi_value ElapsedBinding(CudaContext*, napi_env env, Device* device, EventHandle since, EventHandle event) {
  ContextScope scope(device);
  float milliseconds = 0;
  const Result result = driver.EventElapsedTime(&milliseconds, since, event);
  return Answer(env, result, {NewNumber(env, milliseconds)});
}

// isCapturing(device, stream)
static napi_value IsCapturingBinding(CudaContext*, napi_env env, Device* device, StreamHandle stream) {
  ContextScope scope(device);
  return NewBoolean(env, IsCapturing(Normalize(stream)));
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
static Result StartWait(CudaContext* self, const Device* device, StreamHandle stream, uint32_t owner, Wait* wait) {
  if (owner == 0) {
    if (IsCapturing(stream)) return kStreamCaptureUnsupported;
    Result result;
    EventHandle event = RecordEvent(device, stream, &result);
    if (event == nullptr) return result;
    if (Watch(device, event, true, FinishWait, wait)) return kSuccess;
    driver.EventDestroy(event);
    return kOutOfDeviceMemory;
  }
  const Owned* owned = self->owned.Find(owner);
  if (owned == nullptr || owned->event == nullptr) return kInvalidHandle;
  wait->event = owned->event;
  wait->event->refs.fetch_add(1, std::memory_order_relaxed);
  // An event that was recorded into a graph never happens, and the watcher could not detect this.
  RelaxedScope relaxed;
  const Result state = driver.EventQuery(wait->event->handle);
  if (state != kSuccess && state != kNotReady) return state;
  return Watch(device, wait->event->handle, false, FinishWait, wait) ? kSuccess : kOutOfDeviceMemory;
}

// watch(device, stream, owner, pin): calls JavaScript when the work that an event marks, or without one the work that a
// stream has now, is over. After an error JavaScript drops its function.
static Result WatchBinding(CudaContext* self, Device* device, StreamHandle stream, uint32_t owner, double pin) {
  Wait* wait = IsSize(pin) ? NewWait(self, pin) : nullptr;
  if (wait == nullptr) return kOutOfDeviceMemory;
  ContextScope scope(device);
  const Result result = StartWait(self, device, Normalize(stream), owner, wait);
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
