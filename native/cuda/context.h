// The CUDA state of one instance: the streams and events that its JavaScript made.
#pragma once

#include "../async_work.h"
#include "../hidden.h"
#include "../wire/wire.h"
#include "streams/stream.h"

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

// The results of a function, or the CUresult of its failure.
inline napi_value Answer(napi_env env, Result result, std::initializer_list<napi_value> results) {
  return result == kSuccess ? NewArray(env, results) : NewNumber(env, result);
}

// Queues a job after its memory was ordered with `result`, and frees the job if that failed. Returns the promise, or
// the CUresult if the job was not queued.
template <class Job>
inline napi_value QueueJob(napi_env env, Job* job, Result result) {
  napi_value promise = nullptr;
  if (result == kSuccess) {
    promise = QueueWork(env, job);
    result = kNotSupported;
  } else {
    job->Free();
  }
  return promise != nullptr ? promise : NewNumber(env, result);
}

// The callback of a function that gets a device, which JavaScript names by its number in the first argument, and the
// other arguments of the call. Without such a device the call returns the reason.
template <auto kFunction>
struct DeviceBinding;

// A function that returns the CUresult.
template <class... Values, Result (*kFunction)(CudaContext*, Device*, Values...)>
struct DeviceBinding<kFunction> {
  static Result OnDevice(CudaContext* self, napi_env, int32_t id, Values... values) {
    Result result;
    Device* device = GetDevice(id, &result);
    return device == nullptr ? result : kFunction(self, device, values...);
  }
  static napi_value Call(napi_env env, napi_callback_info info) { return Binding<OnDevice>::Call(env, info); }
};

// A function with results.
template <class... Values, napi_value (*kFunction)(CudaContext*, napi_env, Device*, Values...)>
struct DeviceBinding<kFunction> {
  static napi_value OnDevice(CudaContext* self, napi_env env, int32_t id, Values... values) {
    Result result;
    Device* device = GetDevice(id, &result);
    return device == nullptr ? NewNumber(env, result) : kFunction(self, env, device, values...);
  }
  static napi_value Call(napi_env env, napi_callback_info info) { return Binding<OnDevice>::Call(env, info); }
};

// A function that works on a storage and a stream of the device, which are the next arguments.
template <class... Values, Result (*kFunction)(Storage*, const StreamRef&, Values...)>
struct DeviceBinding<kFunction> {
  static Result OnStorage(CudaContext* self, Device* device, uint32_t handle, StreamHandle stream, Values... values) {
    Storage* storage = GetHeld(self->instance, handle);
    return storage == nullptr ? kInvalidHandle : kFunction(storage, StreamRef{device, Normalize(stream)}, values...);
  }
  static napi_value Call(napi_env env, napi_callback_info info) { return DeviceBinding<OnStorage>::Call(env, info); }
};

void ReleaseOwned(const Owned& owned);

// Any thread.
void ReleaseEvent(Event* event);

// The functions that JavaScript calls. Each table is in the file with its name.
DLPACK_HIDDEN extern const NamedFunction kMemoryFunctions[], kCastFunctions[], kUploadFunctions[], kIpcFunctions[],
    kStreamFunctions[];

}  // namespace dlpack::cuda
