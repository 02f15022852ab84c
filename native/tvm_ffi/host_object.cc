#include "host_object.h"

#include <stdlib.h>

#include "../bindings.h"
#include "../forked.h"
#include "callback.h"

namespace dlpack {
namespace tvm_ffi {

struct HostObject {
  TVMFFIObject header;
  HostValue value;
};

// The library calls `safe_call` with the object itself, because `cpp_call` is NULL.
struct HostFunction {
  TVMFFIObject header;
  TVMFFIFunctionCell cell;
  HostValue value;
};

// Run on the thread that drops the last reference. The strong flag releases the contents, the weak flag frees the
// block.
static void Delete(void* block, const HostValue& value, int flags) {
  if ((flags & kTVMFFIObjectDeleterFlagBitMaskStrong) != 0) ReleaseStorage(value.pin);
  if ((flags & kTVMFFIObjectDeleterFlagBitMaskWeak) != 0) free(block);
}

static void DeleteObject(void* self, int flags) { Delete(self, static_cast<HostObject*>(self)->value, flags); }

static void DeleteFunction(void* self, int flags) { Delete(self, static_cast<HostFunction*>(self)->value, flags); }

static int CallHostFunction(void* handle, const TVMFFIAny* args, int32_t count, TVMFFIAny* result) {
  const HostValue& value = static_cast<const HostFunction*>(handle)->value;
  Context* self = is_forked ? nullptr : FindContext(value.serial);
  if (self == nullptr) {
    library.ErrorSetRaisedFromCStr(
        "RuntimeError",
        "Expected a call on the JavaScript thread that made this function, while it runs, but "
        "received one on another thread, after its end, or in a process forked off from it");
    return -1;
  }
  return RunCallback(self, value.number, args, count, result);
}

template <class T>
static T* Create(Context* self, uint32_t number, double pin, int32_t type, void (*deleter)(void*, int)) {
  T* object = static_cast<T*>(calloc(1, sizeof(T)));
  if (object == nullptr) return nullptr;
  Storage* storage = WrapQueued(self->instance->queue, static_cast<uint64_t>(pin), nullptr, 0);
  if (storage == nullptr) {
    free(object);
    return nullptr;
  }
  object->header = TVMFFIObject{(uint64_t{1} << 32) | 1, type, 0, deleter};
  object->value = HostValue{self->serial, number, storage};
  return object;
}

TVMFFIObject* CreateHostFunction(Context* self, uint32_t number, double pin) {
  HostFunction* function = Create<HostFunction>(self, number, pin, kTVMFFIFunction, DeleteFunction);
  if (function == nullptr) return nullptr;
  function->cell.safe_call = CallHostFunction;
  return &function->header;
}

TVMFFIObject* CreateHostObject(Context* self, uint32_t number, double pin) {
  HostObject* object = Create<HostObject>(self, number, pin, kTVMFFIStaticObjectBegin, DeleteObject);
  return object == nullptr ? nullptr : &object->header;
}

const HostValue* HostValueOf(const Context* self, const TVMFFIObject* object) {
  const HostValue* value = nullptr;
  if (object->deleter == DeleteFunction) value = &reinterpret_cast<const HostFunction*>(object)->value;
  if (object->deleter == DeleteObject) value = &reinterpret_cast<const HostObject*>(object)->value;
  return value != nullptr && value->serial == self->serial ? value : nullptr;
}

static void Finish(Context* self, HostRequest* request, TVMFFIObject* object) {
  if (object != nullptr) request->pin = 0;  // the object owns the pin now
  request->object = reinterpret_cast<uint64_t>(object);
  request->reference = object == nullptr ? 0 : Own(self, object);
  request->status = request->reference == 0 ? -1 : 0;
  if (request->status != 0) library.ErrorSetRaisedFromCStr("MemoryError", "Out of memory for a JavaScript value");
}

// A native function that calls a JavaScript function.
napi_value MakeHostFunction(napi_env env, napi_callback_info info) {
  Context* self = ContextOf(env, info);
  HostRequest* request = RequestOf<HostRequest>(self);
  Finish(self, request, CreateHostFunction(self, request->number, request->pin));
  return nullptr;
}

// An object that native code can only hold and pass on.
napi_value MakeHostObject(napi_env env, napi_callback_info info) {
  Context* self = ContextOf(env, info);
  HostRequest* request = RequestOf<HostRequest>(self);
  Finish(self, request, CreateHostObject(self, request->number, request->pin));
  return nullptr;
}

}  // namespace tvm_ffi
}  // namespace dlpack
