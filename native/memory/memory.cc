// Memory: allocation, the external ArrayBuffers through which JavaScript sees it, and memory that JavaScript owns.
#include <stdlib.h>
#include <string.h>

#include "../bindings.h"
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

// addressOf(handle): the address of the first byte; undefined if there is no such storage.
static napi_value AddressOf(Instance* self, napi_env env, uint32_t handle) {
  const Storage* storage = GetHeld(self, handle);
  return storage == nullptr ? nullptr : NewBigInt(env, reinterpret_cast<uint64_t>(storage->data));
}

// The handle of a Storage over memory that JavaScript keeps alive under a number; 0 when out of memory.
static uint32_t HoldPinned(Instance* self, double pin, void* data, uint64_t nbytes, bool is_new) {
  Storage* storage = WrapQueued(self->queue, static_cast<uint64_t>(pin), data, nbytes, is_new);
  // Only new memory is reported: the garbage collector knows a buffer of the program, but no SharedArrayBuffer of ours.
  return storage == nullptr ? 0 : Hold(self, storage, is_new);
}

// pinArray(pin, array, isNew): the handle of its memory, which JavaScript keeps alive until onRelease gets the number
// `pin`; 0 when out of memory, and undefined for other values. `isNew`: it is the memory of a new tensor.
static napi_value PinArray(Instance* self, napi_env env, double pin, Elements<uint8_t> array, bool is_new) {
  if (!IsSize(pin) || !array.is_valid) return nullptr;
  return NewNumber(env, HoldPinned(self, pin, array.data, array.length, is_new));
}

// pinAddress(pin, address, nbytes): as pinArray, for memory at an address.
static napi_value PinAddress(Instance* self, napi_env env, double pin, uint64_t address, double nbytes) {
  if (!IsSize(pin) || !IsSize(nbytes) || (nbytes > 0 && address < 4096)) return nullptr;
  return NewNumber(env, HoldPinned(self, pin, reinterpret_cast<void*>(address), static_cast<uint64_t>(nbytes), false));
}

// pinOf(handle): the number under which this instance keeps the memory of a storage; 0 for other storages.
static double PinOf(Instance* self, napi_env, uint32_t handle) {
  const Storage* storage = GetHeld(self, handle);
  return storage == nullptr ? 0 : static_cast<double>(QueuedId(storage, self->queue));
}

// beforeAligned(array): the bytes from its start to the next address that is aligned for every consumer.
static double BeforeAligned(Instance*, napi_env, Elements<uint8_t> array) {
  const uintptr_t excess = reinterpret_cast<uintptr_t>(array.data) % platform::kAlignment;
  return static_cast<double>(excess == 0 ? 0 : platform::kAlignment - excess);
}

static void FinalizeNothing(napi_env, void*, void*) {}

// allowsExternalBuffers(): whether this runtime has ArrayBuffers over native memory.
static bool AllowsExternalBuffers(Instance* self, napi_env env) {
  static char byte;
  napi_value buffer;
  return !self->forbids_external_buffers &&
         napi_create_external_arraybuffer(env, &byte, 1, FinalizeNothing, nullptr, &buffer) !=
             napi_no_external_buffers_allowed;
}

// Called when JavaScript has released pinned memory.
static napi_value RunReleasedOf(napi_env env, napi_callback_info info) {
  RunReleased(DataOf<Instance>(env, info)->queue, env);
  return nullptr;
}

// Runs on the JavaScript thread on Node and Bun, but on any thread on Deno, so it only drops a reference. Bun and Deno
// call it when a buffer is detached, Node in the next turn of the event loop.
static void FinalizeBuffer(napi_env, void*, void* hint) {
  FinalizerScope scope;
  BufferReference* reference = static_cast<BufferReference*>(hint);
  DropReference(reference);
  LetGo(reference);
}

// createBuffer(handle): an ArrayBuffer, or a Status.
static napi_value CreateBuffer(Instance* self, napi_env env, uint32_t handle) {
  Storage* storage = GetHeld(self, handle);
  if (storage == nullptr) return NewNumber(env, kConsumed);
  if (self->forbids_external_buffers) return NewNumber(env, kNoExternalBuffers);
  BufferReference* reference = NewBufferReference(storage);
  if (reference == nullptr) return NewNumber(env, kOutOfMemory);
  napi_value result = nullptr;
  const napi_status status = napi_create_external_arraybuffer(env, storage->data, static_cast<size_t>(storage->nbytes),
                                                              FinalizeBuffer, reference, &result);
  if (status != napi_ok) {
    DropReference(reference);
    if (status == napi_no_external_buffers_allowed) LetGo(reference);
    // Node 20 runs the finalizer even when the buffer is too large and the call fails. Elsewhere the record leaks.
    LetGo(reference);
    napi_value error;
    napi_get_and_clear_last_exception(env, &error);
    return NewNumber(env, status == napi_no_external_buffers_allowed ? kNoExternalBuffers : kNapi);
  }
  // Making the buffer may have run a finalizer, which may release the handle and give its number to another storage.
  Held* held = self->table.Find(handle);
  if (held == nullptr || held->storage != storage) {
    LetGo(reference);
    return result;
  }
  // From here on the runtime counts these bytes itself.
  TakeReportBack(self, held);
  // A program detached the buffer before this one. Whoever has its memory now keeps that reference.
  if (held->buffer != nullptr) LetGo(held->buffer);
  held->buffer = reference;
  return result;
}

// detachBuffer(buffer): false for a buffer that is detached already, or cannot be.
static napi_value DetachBuffer(Instance*, napi_env env, napi_value buffer) {
  bool is_detached = true;
  const bool is_done = napi_is_detached_arraybuffer(env, buffer, &is_detached) == napi_ok && !is_detached &&
                       napi_detach_arraybuffer(env, buffer) == napi_ok;
  return NewBoolean(env, is_done);
}

// Copies the whole storage out of, or into, a Uint8Array of its size; false for another size.
template <bool kOut>
static bool CopyBytes(Instance* self, napi_env, uint32_t handle, Elements<uint8_t> bytes) {
  Storage* storage = GetHeld(self, handle);
  if (storage == nullptr || !bytes.is_valid || bytes.length != storage->nbytes) return false;
  if (bytes.length > 0) memcpy(kOut ? bytes.data : storage->data, kOut ? storage->data : bytes.data, bytes.length);
  return true;
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

// trim(): unmaps the kept blocks, and returns their bytes.
static double Trim(Instance*, napi_env) { return static_cast<double>(TrimKeptBlocks()); }

// trimIdle(): unmaps the kept blocks if none was taken or added since the last such call. Returns whether blocks are
// left.
static bool TrimIdle(Instance*, napi_env) { return TrimIdleBlocks(); }

const NamedFunction kMemoryFunctions[] = {{"allocate", Binding<Allocate>::Call},
                                          {"release", Release},
                                          {"collect", Collect},
                                          {"outlive", OutliveTick},
                                          {"addressOf", Binding<AddressOf>::Call},
                                          {"pinArray", Binding<PinArray>::Call},
                                          {"pinAddress", Binding<PinAddress>::Call},
                                          {"pinOf", Binding<PinOf>::Call},
                                          {"beforeAligned", Binding<BeforeAligned>::Call},
                                          {"allowsExternalBuffers", Binding<AllowsExternalBuffers>::Call},
                                          {"runReleased", RunReleasedOf},
                                          {"createBuffer", Binding<CreateBuffer>::Call},
                                          {"detachBuffer", Binding<DetachBuffer>::Call},
                                          {"readInto", Binding<CopyBytes<true>>::Call},
                                          {"writeFrom", Binding<CopyBytes<false>>::Call},
                                          {"takeStaged", Binding<TakeStaged>::Call},
                                          {"trim", Binding<Trim>::Call},
                                          {"trimIdle", Binding<TrimIdle>::Call},
                                          {}};

}  // namespace dlpack
