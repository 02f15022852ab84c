// Functions: the global table, and calls of JavaScript functions.
#include <string.h>

#include "../bindings.h"
#include "builtins.h"
#include "context.h"
#include "text.h"

namespace dlpack::tvm_ffi {

// getBuiltin(name): the function, or 0. The process keeps the reference.
static void GetBuiltin(Context*, ObjectRequest* request, napi_env env, napi_value value) {
  const Text name(env, value);
  request->object = reinterpret_cast<uint64_t>(Builtin(name.bytes()->data));
}

// getGlobal(name): the function with a new reference, or 0.
static void GetGlobal(Context* self, ObjectRequest* request, napi_env env, napi_value value) {
  const Text name(env, value);
  TVMFFIObjectHandle function = nullptr;
  {
    TableScope scope;
    request->status = name.is_lost() ? OutOfMemory() : library.FunctionGetGlobal(name.bytes(), &function);
  }
  OwnIn(self, function, request);
}

// setGlobal(name, override): registers a function under a name.
static void SetGlobal(Context*, ObjectRequest* request, napi_env env, napi_value given, napi_value override) {
  const Text name(env, given);
  bool can_override = false;
  napi_get_value_bool(env, override, &can_override);
  TableScope scope;
  request->status = name.is_lost()
                        ? OutOfMemory()
                        : library.FunctionSetGlobal(name.bytes(), Pointer(request->object), can_override ? 1 : 0);
}

static const uint32_t kValueWords = sizeof(TVMFFIAny) / sizeof(uint64_t);

// Calls onCall or onSettle with a pushed message and frees its slot. False when the function threw, which happens only
// when the stack is full or the environment ends. No exception is pending afterwards.
static bool RunJavaScript(Context* self, napi_ref function, void* message) {
  napi_env env = self->instance->env;
  WireHeader* header = HeaderOf(self->instance);
  const uint32_t slot = static_cast<uint32_t>(static_cast<uint64_t*>(message) - self->instance->words);
  napi_handle_scope scope;
  if (napi_open_handle_scope(env, &scope) != napi_ok) {
    header->top = slot;
    return false;
  }
  napi_value target;
  bool is_done = napi_get_reference_value(env, function, &target) == napi_ok;
  header->slot = slot;
  is_done = (is_done && napi_call_function(env, target, target, 0, nullptr, nullptr) == napi_ok) || ClearException(env);
  napi_close_handle_scope(env, scope);
  header->top = slot;
  return is_done;
}

bool SettleCall(Context* self, uint32_t id, const TVMFFIAny& result, TVMFFIObjectHandle error) {
  SettleRequest* request = PushMessage<SettleRequest>(self->instance, kValueWords);
  if (request == nullptr) return false;
  request->promise = id;
  request->error = reinterpret_cast<uint64_t>(error);
  *ValuesOf(request) = result;
  RunJavaScript(self, self->on_settle, request);
  return true;
}

// A callback with more arguments reads them from an array that lives as long as the call.
static const int32_t kMostValues = 256;

struct BorrowedArray {
  TVMFFIObject header;
  TVMFFISeqCell cell;
};

int RunCallback(Context* self, uint32_t id, const TVMFFIAny* args, int32_t count, TVMFFIAny* result) {
  const bool is_array = count > kMostValues;
  const uint32_t arguments = is_array || count < 0 ? 0 : static_cast<uint32_t>(count);
  CallbackRequest* request =
      count < 0 ? nullptr : PushMessage<CallbackRequest>(self->instance, kValueWords * (arguments + 1));
  if (request == nullptr) return RaiseFull();
  const AllocatorScope allocator(self);
  BorrowedArray array;
  if (is_array) {
    array = BorrowedArray{{0, kTVMFFIArray, 0, nullptr}, {const_cast<TVMFFIAny*>(args), count, count, nullptr}};
  }
  request->array = is_array ? reinterpret_cast<uint64_t>(&array) : 0;
  request->callback = id;
  request->count = static_cast<int32_t>(arguments);
  // Borrowed values, because the caller keeps them alive for the length of the callback.
  TVMFFIAny* values = ValuesOf(request);
  for (uint32_t i = 0; i < arguments; ++i) values[i] = args[i];
  if (!RunJavaScript(self, self->on_call, request))
    return Raise("RuntimeError",
                 "Expected a running JavaScript environment for this function but it is ending, or its stack is full");
  if (request->status != 0) {
    AddNativeFrames();
    return request->status;
  }
  // The slot is free already, but nothing can overwrite it before the result is read.
  const TVMFFIAny& value = values[arguments];
  if (value.type_index < kTVMFFIDLTensorPtr || value.type_index == kTVMFFISmallStr) {
    *result = value;
    return 0;
  }
  return library.AnyViewToOwnedAny(&value, result);
}

const NamedFunction kFunctionsFunctions[] = {{"getBuiltin", Binding<GetBuiltin>::Call},
                                             {"getGlobal", Binding<GetGlobal>::Call},
                                             {"setGlobal", Binding<SetGlobal>::Call},
                                             {}};

}  // namespace dlpack::tvm_ffi
