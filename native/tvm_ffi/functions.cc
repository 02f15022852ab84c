// Functions: the global table, and JavaScript functions that native code can call.
#include <stdlib.h>
#include <string.h>

#include "../bindings.h"
#include "../forked.h"
#include "builtins.h"
#include "callback.h"
#include "context.h"
#include "text.h"

namespace dlpack {
namespace tvm_ffi {

// getBuiltin(name): `object` is the function, or 0. Its reference is the process's.
napi_value GetBuiltin(napi_env env, napi_callback_info info) {
  napi_value value;
  Context* self = ContextOf(env, info, 1, &value);
  const Text name(env, value);
  self->frame->object = reinterpret_cast<uint64_t>(Builtin(name.bytes()->data));
  return nullptr;
}

// getGlobal(name): `object` is the function, under the number `slot`, or 0.
napi_value GetGlobal(napi_env env, napi_callback_info info) {
  napi_value value;
  Context* self = ContextOf(env, info, 1, &value);
  const Text name(env, value);
  TVMFFIObjectHandle function = nullptr;
  {
    TableScope scope;
    self->frame->status = library.FunctionGetGlobal(name.bytes(), &function);
  }
  self->frame->object = reinterpret_cast<uint64_t>(function);
  self->frame->slot = function == nullptr ? 0 : Own(self, function);
  return nullptr;
}

// setGlobal(name, override): names the function `object`.
napi_value SetGlobal(napi_env env, napi_callback_info info) {
  napi_value values[2];
  Context* self = ContextOf(env, info, 2, values);
  const Text name(env, values[0]);
  bool can_override = false;
  napi_get_value_bool(env, values[1], &can_override);
  TableScope scope;
  self->frame->status = library.FunctionSetGlobal(name.bytes(), Pointer(self->frame->object), can_override ? 1 : 0);
  return nullptr;
}

struct Callback {
  uint64_t serial;  // of the context whose thread may call it
  uint32_t id;
  Storage* pin;  // its release tells JavaScript to forget the function
};

// Any thread: whichever drops the last reference.
static void DeleteCallback(void* data) {
  Callback* callback = static_cast<Callback*>(data);
  ReleaseStorage(callback->pin);
  free(callback);
}

static int CallCallback(void* handle, const TVMFFIAny* args, int32_t count, TVMFFIAny* result) {
  const Callback* callback = static_cast<const Callback*>(handle);
  Context* self = CurrentContext();
  if (self == nullptr || self->serial != callback->serial || is_forked) {
    library.ErrorSetRaisedFromCStr(
        "RuntimeError",
        "Expected a call on the JavaScript thread that made this function, while it runs, but "
        "received one on another thread, after its end, or in a process forked off from it");
    return -1;
  }
  return RunCallback(self, callback->id, args, count, result);
}

// makeCallback(): `object` becomes a function that calls `callback`, under the number `slot`; the pin is in a
// PinRequest.
napi_value MakeCallback(napi_env env, napi_callback_info info) {
  Context* self = ContextOf(env, info);
  CallFrame* frame = self->frame;
  Instance* instance = self->instance;
  Callback* callback = static_cast<Callback*>(malloc(sizeof(Callback)));
  const uint64_t pin = static_cast<uint64_t>(MessageOf<PinRequest>(instance)->pin);
  Storage* storage = callback == nullptr ? nullptr : WrapQueued(instance->queue, pin, nullptr, 0);
  if (storage == nullptr) {
    free(callback);
    frame->status = kOutOfMemory;
    return nullptr;
  }
  *callback = Callback{self->serial, frame->callback, storage};
  TVMFFIObjectHandle function = nullptr;
  frame->status = library.FunctionCreate(callback, CallCallback, DeleteCallback, &function);
  if (frame->status != 0) DeleteCallback(callback);
  frame->object = reinterpret_cast<uint64_t>(function);
  frame->slot = function == nullptr ? 0 : Own(self, function);
  return nullptr;
}

// Calls JavaScript's onCall, which never throws: 0, or -1 with an error raised.
static int RunJavaScript(Context* self) {
  napi_env env = self->instance->env;
  napi_handle_scope scope;
  if (napi_open_handle_scope(env, &scope) != napi_ok) return -1;
  napi_value on_call;
  const bool is_done = napi_get_reference_value(env, self->on_call, &on_call) == napi_ok &&
                       napi_call_function(env, on_call, on_call, 0, nullptr, nullptr) == napi_ok;
  napi_close_handle_scope(env, scope);
  if (is_done) return self->frame->status;
  library.ErrorSetRaisedFromCStr("RuntimeError", "Expected a running JavaScript environment but this one is ending");
  return -1;
}

void SettleCall(Context* self, uint32_t id, int status, const TVMFFIAny& result, TVMFFIObjectHandle error) {
  CallFrame* frame = self->frame;
  const uint32_t base = frame->top;
  frame->slots[base] = result;
  frame->top = base + 1;
  frame->base = base;
  frame->count = status == 0 ? kFulfilled : kRejected;
  frame->object = reinterpret_cast<uint64_t>(error);
  frame->slot = error == nullptr ? 0 : Own(self, error);
  frame->callback = id;
  RunJavaScript(self);
  frame->top = base;
  if (result.type_index >= kTVMFFIStaticObjectBegin) library.ObjectDecRef(result.v_obj);
}

// Callbacks with more arguments read them as elements of an array, which lives as long as the call.
static const int32_t kMostSlots = 256;

struct BorrowedArray {
  TVMFFIObject header;
  TVMFFISeqCell cell;
};

int RunCallback(Context* self, uint32_t id, const TVMFFIAny* args, int32_t count, TVMFFIAny* result) {
  CallFrame* frame = self->frame;
  const uint32_t base = frame->top;
  const uint32_t slots = count > kMostSlots ? 1 : static_cast<uint32_t>(count) + 1;
  if (count < 0 || slots > kCallSlots - base) {
    library.ErrorSetRaisedFromCStr("RecursionError", "Expected fewer nested calls: the call frame is full");
    return -1;
  }
  const AllocatorScope allocator(self);
  // Borrowed, as they are: the caller keeps them for the length of the callback.
  BorrowedArray many;
  if (count > kMostSlots) {
    many = BorrowedArray{{0, kTVMFFIArray, 0, nullptr}, {const_cast<TVMFFIAny*>(args), count, count, nullptr}};
    frame->object = reinterpret_cast<uint64_t>(&many);
  } else {
    for (int32_t i = 0; i < count; ++i) frame->slots[base + i] = args[i];
  }
  frame->top = base + slots;
  frame->base = base;
  frame->count = count > kMostSlots ? kManyArguments : count;
  frame->callback = id;
  int status = RunJavaScript(self);
  TVMFFIAny* slot = frame->slots + base + slots - 1;
  frame->top = base;
  if (status == 0 && result != nullptr) {
    if (slot->type_index < kTVMFFIDLTensorPtr || slot->type_index == kTVMFFISmallStr) {
      *result = *slot;
    } else {
      status = library.AnyViewToOwnedAny(slot, result);
    }
  }
  return status;
}

}  // namespace tvm_ffi
}  // namespace dlpack
