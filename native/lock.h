// A lock for sections of a few instructions. Its own, because libstdc++'s would be the one library we link.
#ifndef DLPACK_NODE_LOCK_H_
#define DLPACK_NODE_LOCK_H_

#include <atomic>

#if defined(_WIN32)
#include <windows.h>
#else
#include <sched.h>
#endif

namespace dlpack {

class Lock {
 public:
  void Acquire() {
    while (flag_.test_and_set(std::memory_order_acquire)) {
#if defined(_WIN32)
      SwitchToThread();
#else
      sched_yield();
#endif
    }
  }
  void Release() { flag_.clear(std::memory_order_release); }

 private:
  std::atomic_flag flag_ = ATOMIC_FLAG_INIT;
};

class LockScope {
 public:
  explicit LockScope(Lock* lock) : lock_(lock) { lock_->Acquire(); }
  ~LockScope() { lock_->Release(); }

 private:
  Lock* lock_;
};

}  // namespace dlpack

#endif  // DLPACK_NODE_LOCK_H_
