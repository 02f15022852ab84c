// A spin lock for sections of a few instructions. Not std::mutex, because the addon does not link libstdc++.
#pragma once

#include <atomic>

#include "platform/platform.h"

namespace dlpack {

// Tells the processor that this is a spin loop.
inline void Breathe() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}

// The result of a function that is called once, or by several threads that need the result at the same time.
template <class Value, Value (*kCompute)()>
Value ComputeOnce() {
  static std::atomic<Value> result{};
  static std::atomic<bool> is_known{false};
  if (is_known.load(std::memory_order_acquire)) return result.load(std::memory_order_relaxed);
  const Value value = kCompute();
  result.store(value, std::memory_order_relaxed);
  is_known.store(true, std::memory_order_release);
  return value;
}

class Lock {
 public:
  void Acquire() {
    while (is_taken_.exchange(true, std::memory_order_acquire)) {
      // The thread that holds the lock releases it soon, unless the system has suspended that thread.
      for (int i = 0; i < 64 && is_taken_.load(std::memory_order_relaxed); ++i) Breathe();
      if (is_taken_.load(std::memory_order_relaxed)) platform::YieldThread();
    }
  }
  void Release() { is_taken_.store(false, std::memory_order_release); }

 private:
  std::atomic<bool> is_taken_{false};
};

class LockScope {
 public:
  explicit LockScope(Lock* lock) : lock_(lock) { lock_->Acquire(); }
  ~LockScope() { lock_->Release(); }

 private:
  Lock* lock_;
};

}  // namespace dlpack
