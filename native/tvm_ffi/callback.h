// JavaScript functions run for native code. On the JavaScript thread of the context only.
#ifndef DLPACK_NODE_TVM_FFI_CALLBACK_H_
#define DLPACK_NODE_TVM_FFI_CALLBACK_H_

#include "context.h"

namespace dlpack {
namespace tvm_ffi {

// The function that asks JavaScript for memory, by its number.
static const uint32_t kAllocatorCallback = 0;

// Calls the JavaScript function `id` with borrowed arguments. 0 with an owned result, or -1 with an error raised.
int RunCallback(Context* self, uint32_t id, const TVMFFIAny* args, int32_t count, TVMFFIAny* result);

// Hands the outcome of an asynchronous call to JavaScript: `id` numbers its promise. Takes both references over.
void SettleCall(Context* self, uint32_t id, const TVMFFIAny& result, TVMFFIObjectHandle error);

}  // namespace tvm_ffi
}  // namespace dlpack

#endif  // DLPACK_NODE_TVM_FFI_CALLBACK_H_
