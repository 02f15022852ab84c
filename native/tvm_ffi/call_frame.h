// The call frame: a block that JavaScript and C++ both see. JavaScript writes the arguments of a call into its slots as
// the ABI wants them; src/tvm-ffi/call-frame.ts is its twin. JavaScript thread only.
//
// The slots are a stack. A call takes `count` arguments from `base` on and leaves its result in the slot behind them;
// `top` is the first slot that is free, so that a callback during the call works above its caller.
#ifndef DLPACK_NODE_TVM_FFI_CALL_FRAME_H_
#define DLPACK_NODE_TVM_FFI_CALL_FRAME_H_

#include "../abi/tvm_ffi_abi.h"

namespace dlpack {
namespace tvm_ffi {

static const uint32_t kCallSlots = 2048;
static const uint32_t kCallText = 16384;

struct CallFrame {
  uint64_t object;  // the function of a call; the object of other requests
  int32_t status;   // 0: done; -1: an error is raised on this thread; above 0: a Status of frame.h
  uint32_t top;
  int32_t count;
  uint32_t base;
  uint64_t view;        // the DLTensor inside `object`
  uint64_t address;     // of this block
  int32_t device_type;  // 0: the call sets no stream
  int32_t device_id;
  uint64_t stream;
  uint32_t callback;  // the number of the JavaScript function that is called
  uint32_t slot;
  TVMFFIAny slots[kCallSlots];
  char text[kCallText];  // of string arguments
};

static_assert(offsetof(CallFrame, status) == 8 && offsetof(CallFrame, count) == 16 && offsetof(CallFrame, view) == 24 &&
                  offsetof(CallFrame, address) == 32 && offsetof(CallFrame, device_type) == 40 &&
                  offsetof(CallFrame, stream) == 48 && offsetof(CallFrame, callback) == 56 &&
                  offsetof(CallFrame, slots) == 64 && offsetof(CallFrame, text) == 64 + 16 * kCallSlots,
              "src/tvm-ffi/call-frame.ts has these offsets");

}  // namespace tvm_ffi
}  // namespace dlpack

#endif  // DLPACK_NODE_TVM_FFI_CALL_FRAME_H_
