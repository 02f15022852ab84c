// Functions by name: the global table, and the functions that the library itself has.
#include "../context.h"
#include "../text.h"
#include "builtins.h"

namespace dlpack::tvm_ffi {

// getBuiltin(name): the function, or 0. The process keeps the reference.
static napi_value GetBuiltin(Context*, napi_env env, Text name) { return NewAddress(env, Builtin(name.bytes()->data)); }

// getGlobal(name): the function with a new reference, or null.
static napi_value GetGlobal(Context* self, napi_env env, Text name) {
  TVMFFIObjectHandle function = nullptr;
  int status;
  {
    TableScope scope;
    status = name.is_lost() ? OutOfMemory() : library.FunctionGetGlobal(name.bytes(), &function);
  }
  return status == 0 ? GiveReference(self, env, function) : nullptr;
}

// setGlobal(name, pointer, override): registers a function under a name. False with an error raised.
static bool SetGlobal(Context*, napi_env, Text name, Address function, bool can_override) {
  TableScope scope;
  const int status =
      name.is_lost() ? OutOfMemory() : library.FunctionSetGlobal(name.bytes(), function.pointer, can_override ? 1 : 0);
  return status == 0;
}

const NamedFunction kFunctionsFunctions[] = {{"getBuiltin", Binding<GetBuiltin>::Call},
                                             {"getGlobal", Binding<GetGlobal>::Call},
                                             {"setGlobal", Binding<SetGlobal>::Call},
                                             {}};

}  // namespace dlpack::tvm_ffi
