// JavaScript functions run for native code. On the JavaScript thread of the context only.
#ifndef DLPACK_NODE_TVM_FFI_CALLBACK_H_
#define DLPACK_NODE_TVM_FFI_CALLBACK_H_

#include "context.h"

namespace dlpack {
namespace tvm_ffi {

// The function that asks JavaScript for memory, by its number.
static const uint32_t kAllocatorCallback = 0;

// In place of a number of arguments: frame->callback is a promise, and there is a result, or an error in frame->object.
static const int32_t kFulfilled = -1;
static const int32_t kRejected = -2;
// More arguments than slots: they are the elements of an array at frame->object.
static const int32_t kManyArguments = -3;

// Calls the JavaScript function `id` with borrowed arguments. 0 with an owned result, or -1 with an error raised.
// Without `result` the value stays in the slot behind the arguments, borrowed.
int RunCallback(Context* self, uint32_t id, const TVMFFIAny* args, int32_t count, TVMFFIAny* result);

// Hands the outcome of an asynchronous call to JavaScript: `id` numbers its promise. Takes both references over.
void SettleCall(Context* self, uint32_t id, int status, const TVMFFIAny& result, TVMFFIObjectHandle error);

}  // namespace tvm_ffi
}  // namespace dlpack

#endif  // DLPACK_NODE_TVM_FFI_CALLBACK_H_
