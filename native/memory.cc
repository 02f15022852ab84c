// Memory: allocation, the external ArrayBuffers through which JavaScript sees it, and memory that JavaScript owns.
#include <stdlib.h>
#include <string.h>

#include "bindings.h"

namespace dlpack {

// attachFrame({ frame, onRelease }): the ArrayBuffer that carries every exchange, never seen by user code.
napi_value AttachFrame(napi_env env, napi_callback_info info) {
  napi_value options, frame, on_release;
  Environment* self = EnvironmentOf(env, info, &options);
  void* data = nullptr;
  size_t length = 0;
  if (napi_get_named_property(env, options, "frame", &frame) != napi_ok ||
      napi_get_named_property(env, options, "onRelease", &on_release) != napi_ok ||
      napi_get_arraybuffer_info(env, frame, &data, &length) != napi_ok || length < sizeof(Frame)) {
    napi_throw_error(env, nullptr, "attachFrame needs an ArrayBuffer of the size of the frame");
    return nullptr;
  }
  self->queue = CreateReleaseQueue(env, on_release);
  if (self->queue == nullptr || napi_create_reference(env, frame, 1, &self->frame_ref) != napi_ok) {
    napi_throw_error(env, nullptr, "attachFrame could not create its thread-safe function");
    return nullptr;
  }
  self->frame = static_cast<Frame*>(data);
  return nullptr;
}

napi_value Allocate(napi_env env, napi_callback_info info) {
  Environment* self = EnvironmentOf(env, info);
  Frame* frame = self->frame;
  Storage* storage = IsSize(frame->nbytes) ? AllocateStorage(static_cast<uint64_t>(frame->nbytes)) : nullptr;
  frame->status = storage == nullptr ? kOutOfMemory : kOk;
  frame->device_type = 1;
  if (storage != nullptr) HoldInFrame(self, storage);
  return nullptr;
}

napi_value Release(napi_env env, napi_callback_info info) {
  Environment* self = EnvironmentOf(env, info);
  Drop(self, self->frame->handle);
  return nullptr;
}

// Release, from a finalizer of the collector.
napi_value Collect(napi_env env, napi_callback_info info) {
  FinalizerScope scope;
  return Release(env, info);
}

napi_value AddressOf(napi_env env, napi_callback_info info) {
  Environment* self = EnvironmentOf(env, info);
  Storage* storage = GetHeld(self, self->frame->handle);
  self->frame->status = storage == nullptr ? kConsumed : kOk;
  self->frame->address = storage == nullptr ? 0 : reinterpret_cast<uint64_t>(storage->data);
  return nullptr;
}

// The bytes of a Uint8Array. A typed array, because that is the one view all runtimes resolve over shared memory too.
static bool BytesOf(napi_env env, napi_value array, void** data, size_t* length) {
  napi_typedarray_type type;
  return napi_get_typedarray_info(env, array, &type, length, data, nullptr, nullptr) == napi_ok &&
         type == napi_uint8_array;
}

// A Storage over memory that JavaScript keeps alive under the number in frame->nbytes.
static void HoldQueued(Environment* self, uint64_t id, void* data, uint64_t nbytes) {
  Storage* storage = WrapQueued(self->queue, id, data, nbytes);
  self->frame->status = storage == nullptr ? kOutOfMemory : kOk;
  if (storage == nullptr) return;
  // Nothing is reported: the collector knows the buffer that JavaScript keeps.
  self->frame->handle = Hold(self, storage, false);
  if (self->frame->handle == 0) self->frame->status = kOutOfMemory;
}

napi_value PinArray(napi_env env, napi_callback_info info) {
  napi_value array;
  Environment* self = EnvironmentOf(env, info, &array);
  void* data = nullptr;
  size_t length = 0;
  if (!BytesOf(env, array, &data, &length)) {
    self->frame->status = kNapi;
    return nullptr;
  }
  HoldQueued(self, static_cast<uint64_t>(self->frame->byte_offset), data, length);
  return nullptr;
}

napi_value PinAddress(napi_env env, napi_callback_info info) {
  Environment* self = EnvironmentOf(env, info);
  Frame* frame = self->frame;
  if (!IsSize(frame->nbytes) || (frame->nbytes > 0 && frame->address < 4096)) {
    frame->status = kNullData;
    return nullptr;
  }
  HoldQueued(self, static_cast<uint64_t>(frame->byte_offset), reinterpret_cast<void*>(frame->address),
             static_cast<uint64_t>(frame->nbytes));
  return nullptr;
}

// On the JavaScript thread on Node and Bun, on any thread on Deno: nothing but the count is touched.
static void FinalizeBuffer(napi_env, void*, void* hint) {
  FinalizerScope scope;
  ReleaseStorage(static_cast<Storage*>(hint));
}

napi_value CreateBuffer(napi_env env, napi_callback_info info) {
  Environment* self = EnvironmentOf(env, info);
  Frame* frame = self->frame;
  Storage* storage = GetHeld(self, frame->handle);
  if (storage == nullptr) {
    frame->status = kConsumed;
    return nullptr;
  }
  napi_value result = nullptr;
  napi_status status = napi_no_external_buffers_allowed;
  RetainStorage(storage);
  if (!self->forbids_external_buffers) {
    status = napi_create_external_arraybuffer(env, storage->data, static_cast<size_t>(storage->nbytes), FinalizeBuffer,
                                              storage, &result);
  }
  if (status == napi_no_external_buffers_allowed) {
    ReleaseStorage(storage);
    frame->status = kNoExternalBuffers;
    return nullptr;
  }
  if (status != napi_ok) {
    // Node 20 runs the finalizer all the same when a buffer is too large; a leak is better than a second release.
    napi_value error;
    napi_get_and_clear_last_exception(env, &error);
    frame->status = kNapi;
    return nullptr;
  }
  // From here on the runtime counts these bytes itself.
  TakeReportBack(self, frame->handle);
  frame->status = kOk;
  return result;
}

napi_value DetachBuffer(napi_env env, napi_callback_info info) {
  napi_value buffer;
  Environment* self = EnvironmentOf(env, info, &buffer);
  self->frame->status = napi_detach_arraybuffer(env, buffer) == napi_ok ? kOk : kNapi;
  return nullptr;
}

// Copies the whole storage out of, or into, a Uint8Array of its size.
static napi_value CopyBytes(napi_env env, napi_callback_info info, bool out) {
  napi_value array;
  Environment* self = EnvironmentOf(env, info, &array);
  Storage* storage = GetHeld(self, self->frame->handle);
  void* data = nullptr;
  size_t length = 0;
  if (storage == nullptr || !BytesOf(env, array, &data, &length) || length != storage->nbytes) {
    self->frame->status = kNapi;
    return nullptr;
  }
  self->frame->status = kOk;
  if (length > 0) memcpy(out ? data : storage->data, out ? storage->data : data, length);
  return nullptr;
}

napi_value ReadInto(napi_env env, napi_callback_info info) { return CopyBytes(env, info, true); }
napi_value WriteFrom(napi_env env, napi_callback_info info) { return CopyBytes(env, info, false); }

}  // namespace dlpack
