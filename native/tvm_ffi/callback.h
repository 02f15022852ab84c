// Calls of JavaScript functions from native code. Only on the JavaScript thread of the context.
#pragma once

#include "context.h"

namespace dlpack::tvm_ffi {

// The number of the JavaScript function that allocates memory.
static const uint32_t kAllocatorCallback = 0;

// Calls the JavaScript function `id` with borrowed arguments. 0 with an owned result, or -1 with an error raised.
int RunCallback(Context* self, uint32_t id, const TVMFFIAny* args, int32_t count, TVMFFIAny* result);

// Hands the outcome of an asynchronous call to JavaScript. `id` is the number of its promise. False when the wire is
// full.
bool SettleCall(Context* self, uint32_t id, const TVMFFIAny& result, TVMFFIObjectHandle error);

}  // namespace dlpack::tvm_ffi
