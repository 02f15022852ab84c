// Global functions that every libtvm_ffi registers and that this package calls.
#ifndef DLPACK_NODE_TVM_FFI_BUILTINS_H_
#define DLPACK_NODE_TVM_FFI_BUILTINS_H_

#include "library.h"

namespace dlpack {
namespace tvm_ffi {

// Looks all of them up, once for the process, and keeps them: what a program registers later under the same names, or
// removes, does not change what this package calls. Under the lock of LoadLibrary.
void ResolveBuiltins();

// The function with a name, NULL when the library had none. It lives as long as the process. Any thread.
TVMFFIObjectHandle Builtin(const char* name);

// Calls a builtin. 0 with an owned result, or -1 with an error raised.
int CallBuiltin(const char* name, const TVMFFIAny* args, int32_t count, TVMFFIAny* result);

}  // namespace tvm_ffi
}  // namespace dlpack

#endif  // DLPACK_NODE_TVM_FFI_BUILTINS_H_
