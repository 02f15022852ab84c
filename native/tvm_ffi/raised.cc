// Errors: those that a call raised on this thread, and those that JavaScript raises.
#include "context.h"
#include "text.h"

namespace dlpack {
namespace tvm_ffi {

// The raised error of this thread, under the number `slot`; 0 when there is none.
napi_value MoveRaised(napi_env env, napi_callback_info info) {
  Context* self = ContextOf(env, info);
  TVMFFIObjectHandle error = nullptr;
  library.ErrorMoveFromRaised(&error);
  self->frame->object = reinterpret_cast<uint64_t>(error);
  self->frame->slot = error == nullptr ? 0 : Own(self, error);
  return nullptr;
}

// [kind, message, backtrace] of the error `object`, which then becomes its cause, under the number `slot`, or 0.
napi_value ReadError(napi_env env, napi_callback_info info) {
  Context* self = ContextOf(env, info);
  const TVMFFIErrorCell* cell = CellOf<TVMFFIErrorCell>(Pointer(self->frame->object));
  napi_value result = nullptr;
  if (napi_create_array_with_length(env, 3, &result) != napi_ok) return nullptr;
  const TVMFFIByteArray* texts[] = {&cell->kind, &cell->message, &cell->backtrace};
  for (uint32_t i = 0; i < 3; ++i) {
    napi_value text;
    if (napi_create_string_utf8(env, texts[i]->data, texts[i]->size, &text) == napi_ok) {
      napi_set_element(env, result, i, text);
    }
  }
  if (cell->cause_chain != nullptr) library.ObjectIncRef(cell->cause_chain);
  self->frame->object = reinterpret_cast<uint64_t>(cell->cause_chain);
  self->frame->slot = cell->cause_chain == nullptr ? 0 : Own(self, cell->cause_chain);
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

// setRaised(kind, message, backtrace): raises a new error on this thread, caused by the error `object` unless that is
// 0. `object` becomes its address, for comparison only.
napi_value SetRaised(napi_env env, napi_callback_info info) {
  napi_value values[3];
  Context* self = ContextOf(env, info, 3, values);
  const Text kind(env, values[0]), message(env, values[1]), backtrace(env, values[2]);
  TVMFFIObjectHandle error = nullptr;
  const TVMFFIObjectHandle cause = Pointer(self->frame->object);
  self->frame->object = 0;
  if (CreateError(kind, message, backtrace, cause, &error) != 0) return nullptr;
  library.ErrorSetRaised(error);
  self->frame->object = reinterpret_cast<uint64_t>(error);
  library.ObjectDecRef(error);
  return nullptr;
}

}  // namespace tvm_ffi
}  // namespace dlpack
