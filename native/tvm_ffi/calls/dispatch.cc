// Calls of JavaScript functions: those that native code calls, and those that wait for an asynchronous call.
#include "../../bindings.h"
#include "../context.h"

namespace dlpack::tvm_ffi {

static const uint32_t kValueWords = sizeof(TVMFFIAny) / sizeof(uint64_t);

// Calls a JavaScript function with a pushed message and frees its slot. False when the function threw, which happens
// only when the stack is full or the environment ends. No exception is pending afterwards.
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

bool SettleCall(Context* self, napi_ref on_end, const TVMFFIAny& result, TVMFFIObjectHandle error) {
  SettleRequest* request = PushMessage<SettleRequest>(self->instance, kValueWords);
  if (request == nullptr) return false;
  request->is_error = error == nullptr ? 0 : 1;
  TVMFFIAny* value = ValuesOf(request);
  *value = result;
  if (error != nullptr) {
    *value = TVMFFIAny{};
    value->type_index = kTVMFFIError;
    value->v_obj = static_cast<TVMFFIObject*>(error);
  }
  RunJavaScript(self, on_end, request);
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
  request->is_owned = 0;
  const bool is_done = RunJavaScript(self, self->on_call, request);
  // The slot is free already, but nothing can overwrite it before the result is read.
  const TVMFFIAny& value = values[arguments];
  const int status = is_done ? request->status : -1;
  if (status != 0 && request->is_owned != 0) ReleaseValue(value);
  if (!is_done)
    return Raise("RuntimeError",
                 "Expected a running JavaScript environment for this function but it is ending, or its stack is full");
  if (status != 0) {
    AddNativeFrames();
    return status;
  }
  if (request->is_owned == 0 && value.type_index >= kTVMFFIDLTensorPtr && value.type_index != kTVMFFISmallStr)
    return library.AnyViewToOwnedAny(&value, result);
  *result = value;
  return 0;
}

}  // namespace dlpack::tvm_ffi
