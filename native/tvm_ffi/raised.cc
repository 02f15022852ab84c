// Errors that a call raised on this thread, and errors that JavaScript raises.
#include "context.h"
#include "text.h"

namespace dlpack {
namespace tvm_ffi {

// Takes the raised error of this thread, with its reference; 0 when there is none.
napi_value MoveRaised(napi_env env, napi_callback_info info) {
  Context* self = ContextOf(env, info);
  ErrorRequest* request = RequestOf<ErrorRequest>(self);
  TVMFFIObjectHandle error = nullptr;
  library.ErrorMoveFromRaised(&error);
  request->object = reinterpret_cast<uint64_t>(error);
  request->reference = error == nullptr ? 0 : Own(self, error);
  return nullptr;
}

// [kind, message, backtrace] of an error, and its cause with a reference, or 0.
napi_value ReadError(napi_env env, napi_callback_info info) {
  Context* self = ContextOf(env, info);
  ErrorRequest* request = RequestOf<ErrorRequest>(self);
  const TVMFFIErrorCell* cell = CellOf<TVMFFIErrorCell>(Pointer(request->object));
  if (cell->cause_chain != nullptr) library.ObjectIncRef(cell->cause_chain);
  request->cause = reinterpret_cast<uint64_t>(cell->cause_chain);
  request->cause_reference = cell->cause_chain == nullptr ? 0 : Own(self, cell->cause_chain);
  napi_value result = nullptr;
  if (napi_create_array_with_length(env, 3, &result) != napi_ok) return nullptr;
  const TVMFFIByteArray* texts[] = {&cell->kind, &cell->message, &cell->backtrace};
  for (uint32_t i = 0; i < 3; ++i) {
    napi_value text;
    if (napi_create_string_utf8(env, texts[i]->data, texts[i]->size, &text) == napi_ok) {
      napi_set_element(env, result, i, text);
    }
  }
  return result;
}

static int CreateError(const Text& kind, const Text& message, const Text& backtrace, TVMFFIObjectHandle cause,
                       TVMFFIObjectHandle* out) {
  if (cause == nullptr || library.ErrorCreateWithCauseAndExtraContext == nullptr) {
    return library.ErrorCreate(kind.bytes(), message.bytes(), backtrace.bytes(), out);
  }
  return library.ErrorCreateWithCauseAndExtraContext(kind.bytes(), message.bytes(), backtrace.bytes(), cause, nullptr,
                                                     out);
}

// setRaised(kind, message, backtrace): raises a new error on this thread, with its cause. The address in the request is
// only for comparison.
napi_value SetRaised(napi_env env, napi_callback_info info) {
  napi_value values[3];
  Context* self = ContextOf(env, info, 3, values);
  ErrorRequest* request = RequestOf<ErrorRequest>(self);
  const Text kind(env, values[0]), message(env, values[1]), backtrace(env, values[2]);
  TVMFFIObjectHandle error = nullptr;
  request->object = 0;
  if (CreateError(kind, message, backtrace, Pointer(request->cause), &error) != 0) return nullptr;
  library.ErrorSetRaised(error);
  request->object = reinterpret_cast<uint64_t>(error);
  library.ObjectDecRef(error);
  return nullptr;
}

}  // namespace tvm_ffi
}  // namespace dlpack
