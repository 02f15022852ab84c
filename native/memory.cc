// Memory: allocation, the external ArrayBuffers through which JavaScript sees it, and memory that JavaScript owns.
#include <stdlib.h>
#include <string.h>

#include "bindings.h"
#include "kept_blocks.h"

namespace dlpack {

static void Allocate(Instance* self, AllocateRequest* request) {
  const double nbytes = request->nbytes, cleared = request->cleared;
  const bool is_zeroed = cleared >= nbytes;
  Storage* storage = IsSize(nbytes) ? AllocateStorage(static_cast<uint64_t>(nbytes), is_zeroed) : nullptr;
  if (storage != nullptr && !is_zeroed && cleared > 0) {
    const size_t count = static_cast<size_t>(cleared);
    memset(static_cast<char*>(storage->data) + storage->nbytes - count, 0, count);
  }
  HoldIn(self, storage, true, request);
}

static napi_value Release(napi_env env, napi_callback_info info) {
  Instance* self = DataOf<Instance>(env, info);
  Drop(self, HeaderOf(self)->released);
  return nullptr;
}

// As Release, but called from a finalizer.
static napi_value Collect(napi_env env, napi_callback_info info) {
  FinalizerScope scope;
  Release(env, info);
  LowerLastingLimit(DataOf<Instance>(env, info));
  return nullptr;
}

static napi_value OutliveTick(napi_env env, napi_callback_info info) {
  Instance* self = DataOf<Instance>(env, info);
  Outlive(self, HeaderOf(self)->lasting);
  return nullptr;
}

static void AddressOf(Instance* self, AddressRequest* request) {
  Storage* storage = GetHeld(self, request->handle);
  request->status = storage == nullptr ? kConsumed : kOk;
  request->address = storage == nullptr ? 0 : reinterpret_cast<uint64_t>(storage->data);
}

// A Storage over memory that JavaScript keeps alive under the number of the request.
static void HoldPinned(Instance* self, PinRequest* request, void* data, uint64_t nbytes) {
  Storage* storage = WrapQueued(self->queue, static_cast<uint64_t>(request->pin), data, nbytes);
  // Nothing is reported, because the garbage collector knows the buffer that JavaScript keeps.
  HoldIn(self, storage, false, request);
}

static void PinArray(Instance* self, PinRequest* request, napi_env env, napi_value array) {
  const Elements<uint8_t> bytes(env, array);
  if (!IsSize(request->pin) || !bytes.is_valid) {
    request->status = kNapi;
    return;
  }
  HoldPinned(self, request, bytes.data, bytes.length);
}

static void PinAddress(Instance* self, PinRequest* request) {
  if (!IsSize(request->pin) || !IsSize(request->nbytes) || (request->nbytes > 0 && request->address < 4096)) {
    request->status = kNullData;
    return;
  }
  HoldPinned(self, request, reinterpret_cast<void*>(request->address), static_cast<uint64_t>(request->nbytes));
}

// Runs on the JavaScript thread on Node and Bun, but on any thread on Deno, so it only drops a reference.
static void FinalizeBuffer(napi_env, void*, void* hint) {
  FinalizerScope scope;
  ReleaseStorage(static_cast<Storage*>(hint));
}

static napi_value CreateBuffer(Instance* self, BufferRequest* request, napi_env env) {
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

static void DetachBuffer(Instance*, napi_env env, napi_value buffer) { napi_detach_arraybuffer(env, buffer); }

// Copies the whole storage out of, or into, a Uint8Array of its size.
template <bool kOut>
static void CopyBytes(Instance* self, BufferRequest* request, napi_env env, napi_value array) {
  Storage* storage = GetHeld(self, request->handle);
  const Elements<uint8_t> bytes(env, array);
  const bool fits = storage != nullptr && bytes.is_valid && bytes.length == storage->nbytes;
  request->status = fits ? kOk : kNapi;
  if (fits && bytes.length > 0)
    memcpy(kOut ? bytes.data : storage->data, kOut ? storage->data : bytes.data, bytes.length);
}

// Copies bytes from the wire into a storage, which it allocates first where there is none.
static void TakeStaged(Instance* self, StageRequest* request) {
  const char* bytes = reinterpret_cast<const char*>(request + 1);
  const double room = static_cast<double>(reinterpret_cast<const char*>(self->words + kWireWords) - bytes);
  const bool is_new = request->handle == 0;
  request->status = kNapi;
  if (!IsSize(request->nbytes) || !IsSize(request->offset) || !IsSize(request->count) || request->count > room) {
    return;
  }
  const uint64_t offset = static_cast<uint64_t>(request->offset);
  const uint64_t count = static_cast<uint64_t>(request->count);
  Storage* storage = is_new ? AllocateStorage(static_cast<uint64_t>(request->nbytes)) : GetHeld(self, request->handle);
  if (storage == nullptr) {
    request->status = is_new ? kOutOfMemory : kConsumed;
    return;
  }
  const bool fits = offset + count <= storage->nbytes;
  if (fits) memcpy(static_cast<char*>(storage->data) + offset, bytes, static_cast<size_t>(count));
  if (is_new && !fits) ReleaseStorage(storage);
  if (!fits) return;
  if (is_new) request->handle = Hold(self, storage, true);
  request->status = request->handle == 0 ? kOutOfMemory : kOk;
}

static void Trim(Instance*, TrimRequest* request) {
  const bool is_idle = request->is_idle != 0;
  request->bytes = is_idle ? 0 : static_cast<double>(TrimKeptBlocks());
  request->is_watched = is_idle && TrimIdleBlocks() ? 1 : 0;
}

const NamedFunction kMemoryFunctions[] = {{"allocate", Binding<Allocate>::Call},
                                          {"release", Release},
                                          {"collect", Collect},
                                          {"outlive", OutliveTick},
                                          {"addressOf", Binding<AddressOf>::Call},
                                          {"pinArray", Binding<PinArray>::Call},
                                          {"pinAddress", Binding<PinAddress>::Call},
                                          {"createBuffer", Binding<CreateBuffer>::Call},
                                          {"detachBuffer", Binding<DetachBuffer>::Call},
                                          {"readInto", Binding<CopyBytes<true>>::Call},
                                          {"writeFrom", Binding<CopyBytes<false>>::Call},
                                          {"takeStaged", Binding<TakeStaged>::Call},
                                          {"trim", Binding<Trim>::Call},
                                          {}};

}  // namespace dlpack
