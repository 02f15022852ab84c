// Memory: allocation, the external ArrayBuffers through which JavaScript sees it, and memory that JavaScript owns.
#include <stdlib.h>
#include <string.h>

#include "bindings.h"
#include "kept_blocks.h"

namespace dlpack {

napi_value Allocate(napi_env env, napi_callback_info info) {
  Instance* self = InstanceOf(env, info);
  AllocateRequest* request = MessageOf<AllocateRequest>(self);
  Storage* storage = IsSize(request->nbytes)
                         ? AllocateStorage(static_cast<uint64_t>(request->nbytes), request->is_zeroed != 0)
                         : nullptr;
  HoldIn(self, storage, true, request);
  return nullptr;
}

napi_value Release(napi_env env, napi_callback_info info) {
  Instance* self = InstanceOf(env, info);
  Drop(self, HeaderOf(self)->released);
  return nullptr;
}

// As Release, but called from a finalizer.
napi_value Collect(napi_env env, napi_callback_info info) {
  FinalizerScope scope;
  Release(env, info);
  LowerLastingLimit(InstanceOf(env, info));
  return nullptr;
}

napi_value OutliveTick(napi_env env, napi_callback_info info) {
  Instance* self = InstanceOf(env, info);
  Outlive(self, HeaderOf(self)->lasting);
  return nullptr;
}

napi_value AddressOf(napi_env env, napi_callback_info info) {
  Instance* self = InstanceOf(env, info);
  AddressRequest* request = MessageOf<AddressRequest>(self);
  Storage* storage = GetHeld(self, request->handle);
  request->status = storage == nullptr ? kConsumed : kOk;
  request->address = storage == nullptr ? 0 : reinterpret_cast<uint64_t>(storage->data);
  return nullptr;
}

// A Storage over memory that JavaScript keeps alive under the number of the request.
static void HoldPinned(Instance* self, PinRequest* request, void* data, uint64_t nbytes) {
  Storage* storage = WrapQueued(self->queue, static_cast<uint64_t>(request->pin), data, nbytes);
  // Nothing is reported, because the garbage collector knows the buffer that JavaScript keeps.
  HoldIn(self, storage, false, request);
}

napi_value PinArray(napi_env env, napi_callback_info info) {
  napi_value array;
  Instance* self = InstanceOf(env, info, &array);
  PinRequest* request = MessageOf<PinRequest>(self);
  void* data = nullptr;
  size_t length = 0;
  if (!IsSize(request->pin) || !ArrayOf(env, array, napi_uint8_array, &data, &length)) {
    request->status = kNapi;
    return nullptr;
  }
  HoldPinned(self, request, data, length);
  return nullptr;
}

napi_value PinAddress(napi_env env, napi_callback_info info) {
  Instance* self = InstanceOf(env, info);
  PinRequest* request = MessageOf<PinRequest>(self);
  if (!IsSize(request->pin) || !IsSize(request->nbytes) || (request->nbytes > 0 && request->address < 4096)) {
    request->status = kNullData;
    return nullptr;
  }
  HoldPinned(self, request, reinterpret_cast<void*>(request->address), static_cast<uint64_t>(request->nbytes));
  return nullptr;
}

// Runs on the JavaScript thread on Node and Bun, but on any thread on Deno, so it only drops a reference.
static void FinalizeBuffer(napi_env, void*, void* hint) {
  FinalizerScope scope;
  ReleaseStorage(static_cast<Storage*>(hint));
}

napi_value CreateBuffer(napi_env env, napi_callback_info info) {
  Instance* self = InstanceOf(env, info);
  BufferRequest* request = MessageOf<BufferRequest>(self);
  Storage* storage = GetHeld(self, request->handle);
  if (storage == nullptr) {
    request->status = kConsumed;
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
    request->status = kNoExternalBuffers;
    return nullptr;
  }
  if (status != napi_ok) {
    // Node 20 runs the finalizer even when the buffer is too large and the call fails. A leak is better than a second
    // release.
    napi_value error;
    napi_get_and_clear_last_exception(env, &error);
    request->status = kNapi;
    return nullptr;
  }
  // From here on the runtime counts these bytes itself.
  Held* held = self->table.Find(request->handle);
  if (held != nullptr) TakeReportBack(self, held);
  request->status = kOk;
  return result;
}

napi_value DetachBuffer(napi_env env, napi_callback_info info) {
  napi_value buffer;
  InstanceOf(env, info, &buffer);
  napi_detach_arraybuffer(env, buffer);
  return nullptr;
}

// Copies the whole storage out of, or into, a Uint8Array of its size.
static napi_value CopyBytes(napi_env env, napi_callback_info info, bool out) {
  napi_value array;
  Instance* self = InstanceOf(env, info, &array);
  BufferRequest* request = MessageOf<BufferRequest>(self);
  Storage* storage = GetHeld(self, request->handle);
  void* data = nullptr;
  size_t length = 0;
  const bool fits =
      storage != nullptr && ArrayOf(env, array, napi_uint8_array, &data, &length) && length == storage->nbytes;
  request->status = fits ? kOk : kNapi;
  if (fits && length > 0) memcpy(out ? data : storage->data, out ? storage->data : data, length);
  return nullptr;
}

napi_value ReadInto(napi_env env, napi_callback_info info) { return CopyBytes(env, info, true); }
napi_value WriteFrom(napi_env env, napi_callback_info info) { return CopyBytes(env, info, false); }

// Copies bytes from the wire into a storage, which it allocates first where there is none.
napi_value TakeStaged(napi_env env, napi_callback_info info) {
  Instance* self = InstanceOf(env, info);
  StageRequest* request = MessageOf<StageRequest>(self);
  const char* bytes = reinterpret_cast<const char*>(request + 1);
  const double room = static_cast<double>(reinterpret_cast<const char*>(self->words + kWireWords) - bytes);
  const bool is_new = request->handle == 0;
  request->status = kNapi;
  if (!IsSize(request->nbytes) || !IsSize(request->offset) || !IsSize(request->count) || request->count > room) {
    return nullptr;
  }
  const uint64_t offset = static_cast<uint64_t>(request->offset);
  const uint64_t count = static_cast<uint64_t>(request->count);
  Storage* storage = is_new ? AllocateStorage(static_cast<uint64_t>(request->nbytes)) : GetHeld(self, request->handle);
  if (storage == nullptr) {
    request->status = is_new ? kOutOfMemory : kConsumed;
    return nullptr;
  }
  const bool fits = offset + count <= storage->nbytes;
  if (fits) memcpy(static_cast<char*>(storage->data) + offset, bytes, static_cast<size_t>(count));
  if (is_new && !fits) ReleaseStorage(storage);
  if (!fits) return nullptr;
  if (is_new) request->handle = Hold(self, storage, true);
  request->status = request->handle == 0 ? kOutOfMemory : kOk;
  return nullptr;
}

napi_value Trim(napi_env env, napi_callback_info info) {
  TrimRequest* request = MessageOf<TrimRequest>(InstanceOf(env, info));
  const bool is_idle = request->is_idle != 0;
  request->bytes = is_idle ? 0 : static_cast<double>(TrimKeptBlocks());
  request->is_watched = is_idle && TrimIdleBlocks() ? 1 : 0;
  return nullptr;
}

}  // namespace dlpack
