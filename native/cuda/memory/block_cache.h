// Keeps released small blocks of device memory, so that work on the same stream can use them again. The driver's pool
// takes two microseconds for this.
#pragma once

#include "../../lock.h"
#include "../../memory/storage.h"

namespace dlpack::cuda {

class BlockCache {
 public:
  enum { kSmallest = 9, kLargest = 20 };  // powers of two, in bytes
  static const uint64_t kLimit = uint64_t{32} << 20;

  // The class of a size; -1 for sizes that are too large.
  static int ClassOf(uint64_t nbytes) {
    int log = kSmallest;
    while (log <= kLargest && (uint64_t{1} << log) < nbytes) ++log;
    return log <= kLargest ? log - kSmallest : -1;
  }
  static uint64_t BytesOf(int size_class) { return uint64_t{1} << (size_class + kSmallest); }

  // A storage of the class; NULL when the cache has none. `owner_id` links the storages in the cache. Any thread.
  Storage* Take(int size_class) {
    LockScope scope(&lock_);
    Storage* storage = free_[size_class];
    if (storage == nullptr) return nullptr;
    free_[size_class] = reinterpret_cast<Storage*>(storage->owner_id);
    bytes_ -= BytesOf(size_class);
    return storage;
  }

  // False when the cache is full.
  bool Put(int size_class, Storage* storage) {
    LockScope scope(&lock_);
    if (bytes_ + BytesOf(size_class) > kLimit) return false;
    storage->owner_id = reinterpret_cast<uint64_t>(free_[size_class]);
    free_[size_class] = storage;
    bytes_ += BytesOf(size_class);
    return true;
  }

 private:
  Lock lock_;
  Storage* free_[kLargest - kSmallest + 1] = {};
  uint64_t bytes_ = 0;
};

}  // namespace dlpack::cuda
