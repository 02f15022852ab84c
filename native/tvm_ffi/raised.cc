// Errors that a call raised on this thread, and errors that JavaScript raises.
#include <string.h>

#include "context.h"
#include "host_object.h"
#include "text.h"

namespace dlpack::tvm_ffi {

// Takes the raised error of this thread, with its reference; 0 when there is none, or when out of memory.
static void MoveRaised(Context* self, ErrorRequest* request) {
  TVMFFIObjectHandle error = nullptr;
  library.ErrorMoveFromRaised(&error);
  request->reference = Own(self, error);
  request->object = request->reference == 0 ? 0 : reinterpret_cast<uint64_t>(error);
}

// [kind, message, backtrace] of an error, and its cause with a reference, or 0.
static napi_value ReadError(Context* self, ErrorRequest* request, napi_env env) {
  const TVMFFIErrorCell* cell = CellOf<TVMFFIErrorCell>(Pointer(request->object));
  if (cell->cause_chain != nullptr) library.ObjectIncRef(cell->cause_chain);
  request->cause_reference = Own(self, cell->cause_chain);
  request->cause = request->cause_reference == 0 ? 0 : reinterpret_cast<uint64_t>(cell->cause_chain);
  const TVMFFIObject* context = static_cast<TVMFFIObject*>(cell->extra_context);
  const HostValue* thrown = context == nullptr ? nullptr : HostValueOf(self, context);
  request->thrown = thrown == nullptr ? 0 : thrown->number;
  napi_value result = nullptr;
  if (napi_create_array_with_length(env, 3, &result) != napi_ok) return nullptr;
  const TVMFFIByteArray* texts[] = {&cell->kind, &cell->message, &cell->backtrace};
  for (uint32_t i = 0; i < 3; ++i) napi_set_element(env, result, i, StringOf(env, *texts[i]));
  return result;
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

// setRaised(kind, message, backtrace): raises a new error on this thread, with its cause and the value that JavaScript
// threw. The address in the request is only for comparison.
static void SetRaised(Context* self, ErrorRequest* request, napi_env env, napi_value name, napi_value text,
                      napi_value trace) {
  const Text kind(env, name), message(env, text), backtrace(env, trace);
  TVMFFIObject* thrown = request->thrown == 0 ? nullptr : CreateHostObject(self, request->thrown, request->pin);
  if (thrown != nullptr) request->pin = 0;  // the object owns the pin now
  TVMFFIObjectHandle error = nullptr;
  request->object = 0;
  const int status = CreateError(kind, message, backtrace, Pointer(request->cause), thrown, &error);
  if (thrown != nullptr) library.ObjectDecRef(thrown);
  if (status != 0) return;
  library.ErrorSetRaised(error);
  request->object = reinterpret_cast<uint64_t>(error);
  library.ObjectDecRef(error);
}

// raiseAgain(backtrace): raises an error that came from native code, with a new backtrace.
static void RaiseAgain(Context*, ErrorRequest* request, napi_env env, napi_value value) {
  void* error = Pointer(request->object);
  const Text backtrace(env, value);
  CellOf<TVMFFIErrorCell>(error)->update_backtrace(error, backtrace.bytes(), kTVMFFIBacktraceUpdateModeReplace);
  library.ErrorSetRaised(error);
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

const NamedFunction kRaisedFunctions[] = {{"moveRaised", Binding<MoveRaised>::Call},
                                          {"readError", Binding<ReadError>::Call},
                                          {"setRaised", Binding<SetRaised>::Call},
                                          {"raiseAgain", Binding<RaiseAgain>::Call},
                                          {}};

}  // namespace dlpack::tvm_ffi
