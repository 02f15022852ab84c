#include "context.h"

#include <stdlib.h>

#include "../bindings.h"
#include "../exports.h"
#include "objects/host_objects.h"

namespace dlpack {
namespace tvm_ffi {

// The contexts of this thread, the newest first.
static thread_local Context* contexts = nullptr;
static std::atomic<uint64_t> last_serial;

Context* FindContext(uint64_t serial) {
  Context* self = contexts;
  while (self != nullptr && self->serial != serial) self = self->next;
  return self;
}

static void Destroy(void* data) {
  Context* self = static_cast<Context*>(data);
  Context** link = &contexts;
  while (*link != nullptr && *link != self) link = &(*link)->next;
  if (*link == self) *link = self->next;
  self->table.Clear([](TVMFFIObjectHandle object) { library.ObjectDecRef(object); });
  self->weak_table.Clear(DropWeakReference);
  napi_delete_reference(self->instance->env, self->on_call);
  free(self);
}

static bool Define(napi_env env, napi_value object, Context* self) {
  return DefineFunctions(
      env, object,
      {kCallsFunctions, kTensorArgumentsFunctions, kAsyncFunctions, kObjectsFunctions, kBatchesFunctions,
       kContainersFunctions, kTypesFunctions, kFieldsFunctions, kFunctionsFunctions, kHostObjectsFunctions,
       kErrorsFunctions, kStreamsFunctions, kAllocatorFunctions},
      self);
}

}  // namespace tvm_ffi

napi_value LoadTvmFfi(napi_env env, napi_callback_info info) { return LoadFrom(env, info, tvm_ffi::LoadLibrary); }

// attachTvmFfi(onCall): the functions of one instance, or a string with the reason of a failure.
napi_value AttachTvmFfi(napi_env env, napi_callback_info info) {
  napi_value on_call, result;
  Instance* instance = DataOf<Instance>(env, info, &on_call);
  tvm_ffi::Context* self = static_cast<tvm_ffi::Context*>(calloc(1, sizeof(tvm_ffi::Context)));
  if (self == nullptr || napi_create_reference(env, on_call, 1, &self->on_call) != napi_ok ||
      napi_create_object(env, &result) != napi_ok) {
    const char* problem = self == nullptr ? "out of memory" : "expected a function onCall";
    free(self);
    return NewText(env, problem);
  }
  self->instance = instance;
  self->words = instance->words;
  self->serial = tvm_ffi::last_serial.fetch_add(1, std::memory_order_relaxed) + 1;
  tvm_ffi::UseOwnAllocator(self);
  self->next = tvm_ffi::contexts;
  tvm_ffi::contexts = self;
  napi_add_env_cleanup_hook(env, tvm_ffi::Destroy, self);
  if (!tvm_ffi::Define(env, result, self)) return NewText(env, "its functions could not be defined");
  const bool is_reflective = tvm_ffi::library.version.patch >= tvm_ffi::kReflectionPatch;
  napi_set_named_property(env, result, "isReflective", NewBoolean(env, is_reflective));
  // The address of the wire, for values that point into it. Two halves, because each is exact as a JavaScript number.
  const uint64_t address = reinterpret_cast<uint64_t>(instance->words);
  napi_set_named_property(env, result, "wireLow", NewNumber(env, static_cast<uint32_t>(address)));
  napi_set_named_property(env, result, "wireHigh", NewNumber(env, static_cast<uint32_t>(address >> 32)));
  napi_set_named_property(env, result, "path", NewText(env, tvm_ffi::LibraryPath()));
  return result;
}

}  // namespace dlpack
