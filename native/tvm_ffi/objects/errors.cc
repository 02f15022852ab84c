// Errors that a call raised on this thread, and errors that JavaScript raises.
#include <string.h>

#include "../context.h"
#include "../text.h"
#include "host_objects.h"

namespace dlpack::tvm_ffi {

// moveRaised(): takes the raised error of this thread, with its reference; null when there is none.
static napi_value MoveRaised(Context* self, napi_env env) {
  TVMFFIObjectHandle error = nullptr;
  library.ErrorMoveFromRaised(&error);
  const uint32_t number = Own(self, error);
  // Out of memory raises no other error here, because nobody would take it.
  return number == 0 ? NewNull(env) : NewArray(env, {NewAddress(env, error), NewNumber(env, number)});
}

// readError(pointer): [kind, message, backtrace, cause, reference to the cause, number of the thrown value]
static napi_value ReadError(Context* self, napi_env env, Address error) {
  const TVMFFIErrorCell* cell = CellOf<TVMFFIErrorCell>(error.pointer);
  if (cell->cause_chain != nullptr) library.ObjectIncRef(cell->cause_chain);
  const uint32_t reference = Own(self, cell->cause_chain);
  const TVMFFIObject* context = static_cast<TVMFFIObject*>(cell->extra_context);
  const HostValue* thrown = context == nullptr ? nullptr : HostValueOf(self, context);
  return NewArray(env, {StringOf(env, cell->kind), StringOf(env, cell->message), StringOf(env, cell->backtrace),
                        NewAddress(env, reference == 0 ? nullptr : cell->cause_chain), NewNumber(env, reference),
                        NewNumber(env, thrown == nullptr ? 0 : thrown->number)});
}

// `thrown` holds the JavaScript value. The error has its own references to `cause` and `thrown`.
static int CreateError(const Text& kind, const Text& message, const Text& backtrace, TVMFFIObjectHandle cause,
                       TVMFFIObjectHandle thrown, TVMFFIObjectHandle* out) {
  if (library.ErrorCreateWithCauseAndExtraContext == nullptr) {
    return library.ErrorCreate(kind.bytes(), message.bytes(), backtrace.bytes(), out);
  }
  return library.ErrorCreateWithCauseAndExtraContext(kind.bytes(), message.bytes(), backtrace.bytes(), cause, thrown,
                                                     out);
}

// setRaised(kind, message, backtrace, cause, thrown, pin): raises a new error on this thread, with its cause and the
// value that JavaScript threw. Returns whether an object owns the pin now.
static bool SetRaised(Context* self, napi_env, Text kind, Text message, Text backtrace, Address cause, uint32_t number,
                      double pin) {
  TVMFFIObject* thrown = CreateHostObject(self, number, pin);
  TVMFFIObjectHandle error = nullptr;
  const int status = CreateError(kind, message, backtrace, cause.pointer, thrown, &error);
  if (thrown != nullptr) library.ObjectDecRef(thrown);
  if (status == 0) {
    library.ErrorSetRaised(error);
    library.ObjectDecRef(error);
  }
  return thrown != nullptr;
}

// raiseAgain(pointer, backtrace): raises an error that came from native code, with a new backtrace.
static void RaiseAgain(Context*, napi_env, Address error, Text backtrace) {
  CellOf<TVMFFIErrorCell>(error.pointer)
      ->update_backtrace(error.pointer, backtrace.bytes(), kTVMFFIBacktraceUpdateModeReplace);
  library.ErrorSetRaised(error.pointer);
}

static bool Contains(const char* line, size_t length, const char* text) {
  const size_t size = strlen(text);
  for (size_t i = 0; i + size <= length; ++i) {
    if (memcmp(line + i, text, size) == 0) return true;
  }
  return false;
}

void AddNativeFrames() {
  TVMFFIObjectHandle error = nullptr;
  if (library.Backtrace == nullptr) return;
  const TVMFFIByteArray* frames = library.Backtrace(nullptr, 0, nullptr, 0);
  library.ErrorMoveFromRaised(&error);
  if (error == nullptr) return;
  // Only the frames between ours: those before run the callback, and those after our binding belong to the engine.
  const char* end = frames->data + frames->size;
  const char* first = nullptr;
  const char* last = frames->data;
  bool is_inside = false;
  while (last < end) {
    const char* next = static_cast<const char*>(memchr(last, '\n', static_cast<size_t>(end - last)));
    next = next == nullptr ? end : next + 1;
    const size_t length = static_cast<size_t>(next - last);
    const bool is_own = Contains(last, length, "dlpack::tvm_ffi::");
    if (is_own && Contains(last, length, "napi_env__")) break;
    if (is_own) first = next;
    is_inside = !is_own && first != nullptr;
    last = next;
  }
  if (is_inside) {
    const TVMFFIByteArray between{first, static_cast<size_t>(last - first)};
    CellOf<TVMFFIErrorCell>(error)->update_backtrace(error, &between, kTVMFFIBacktraceUpdateModeAppend);
  }
  library.ErrorSetRaised(error);
  library.ObjectDecRef(error);
}

const NamedFunction kErrorsFunctions[] = {{"moveRaised", Binding<MoveRaised>::Call},
                                          {"readError", Binding<ReadError>::Call},
                                          {"setRaised", Binding<SetRaised>::Call},
                                          {"raiseAgain", Binding<RaiseAgain>::Call},
                                          {}};

}  // namespace dlpack::tvm_ffi
