// Global functions that every libtvm_ffi registers and that this package calls.
#pragma once

#include "../library.h"

namespace dlpack::tvm_ffi {

// Looks up all builtins, once for the process, and keeps them. So a program that later replaces or removes these names
// does not change what this package calls. Called under the lock of LoadLibrary.
void ResolveBuiltins();

// The builtin with this name; NULL when the library does not have it. It lives as long as the process. Any thread.
TVMFFIObjectHandle Builtin(const char* name);

// Calls a builtin. 0 with an owned result, or -1 with an error raised.
int CallBuiltin(const char* name, const TVMFFIAny* args, int32_t count, TVMFFIAny* result);

}  // namespace dlpack::tvm_ffi
