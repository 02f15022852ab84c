// Devices, each with its primary context, which the CUDA runtime, PyTorch, JAX and CuPy use too. Any thread.
#pragma once

#include "driver.h"
#include "memory/block_cache.h"

namespace dlpack::cuda {

enum { kMaxDevices = 64, kItemSizes = 5 };  // items of 1, 2, 4, 8 and 16 bytes
enum { kCastKernels = 12, kScaleKernels = 12 };

struct Device {
  int32_t id;
  Context context;
  MemoryPool pool;                  // NULL: the device has no pools
  StreamHandle side_stream;         // for allocations while the current stream is captured into a graph
  BlockCache cache;                 // of the legacy default stream
  Function copies[2 * kItemSizes];  // strided_copy, then transpose_copy; NULL until the first strided copy
  Function casts[kCastKernels];     // NULL until the first cast
  Function scales[kScaleKernels];   // NULL until the first cast with a scale from a wider type than a byte
};

// The number of devices; 0 without a driver.
int32_t DeviceCount();

// True when this process has a context of the device. Any thread.
bool IsUsed(int32_t id);

// The device with this number. Its context is made on first use. NULL with the reason in `result`.
Device* GetDevice(int32_t id, Result* result);

// Loads the named kernels of a device from PTX into `functions` on first use; the last of them is NULL until then. Any
// thread; the device's context is current.
Result LoadKernels(const char* ptx, const char* const* names, int count, Function* functions);

// Makes a context current on this thread for the lifetime of the scope. A thread without a context keeps the context of
// device 0, as the CUDA runtime would choose it, because pushing and popping costs more than most calls. It does not
// keep the context of another device, because libraries on this thread would then use that device.
class ContextScope {
 public:
  explicit ContextScope(const Device* device) : is_pushed_(false), result_(kSuccess) {
    Context current = nullptr;
    driver.CtxGetCurrent(&current);
    if (current == device->context) return;
    result_ = driver.CtxPushCurrent(device->context);
    is_pushed_ = result_ == kSuccess && (current != nullptr || device->id != 0);
  }
  ~ContextScope() {
    Context popped;
    if (is_pushed_) driver.CtxPopCurrent(&popped);
  }
  Result result() const { return result_; }

 private:
  bool is_pushed_;
  Result result_;
};

// Allows calls that CUDA forbids on this thread while a stream is captured into a graph.
class RelaxedScope {
 public:
  RelaxedScope() : mode_(kCaptureRelaxed) { driver.ThreadExchangeStreamCaptureMode(&mode_); }
  ~RelaxedScope() { driver.ThreadExchangeStreamCaptureMode(&mode_); }

 private:
  CaptureMode mode_;
};

// A ContextScope and a RelaxedScope, for calls that are not part of a capture.
class RelaxedContextScope : public ContextScope {
 public:
  using ContextScope::ContextScope;

 private:
  RelaxedScope relaxed_;
};

}  // namespace dlpack::cuda
