// Storage: a reference-counted block of memory. Any thread may release it, with or without a JavaScript environment.
#pragma once

#include <stdint.h>

#include <atomic>

#include "thread_cache.h"

namespace dlpack {

// Locked instructions count the references in `refs`. The thread that holds the storage for JavaScript, its home, keeps
// some references in reserve and uses them without locked instructions. The fields that each exchange uses come first,
// so that most exchanges use one cache line.
struct Storage {
  std::atomic<uint32_t> refs;
  // An environment told its garbage collector about this memory.
  std::atomic<bool> is_reported;
  // The memory belongs to another library.
  bool is_import;
  void* data;
  uint64_t nbytes;
  // The thread whose table holds the storage, or NULL. Only that thread sets and clears it, see instance.cc.
  std::atomic<ThreadCache*> home;
  // For the home thread only: references in reserve, and how often its table holds the storage (at least once).
  uint32_t spares;
  uint32_t holds;
  // Releases the memory and frees the Storage. Any thread.
  void (*destroy)(Storage* self);
  // Data for `destroy`: a managed tensor, an entry of a release queue, or an address and a number.
  void* owner;
  uint64_t owner_id;
  // Streams with work on this memory, for which `destroy` waits; see cuda/streams/uses.h. NULL for most storages.
  void* uses;
};

static_assert(sizeof(Storage) <= kSmallBlock, "a Storage is a small block");

// Allocates memory, aligned for every consumer. Returns NULL when out of memory. Any thread.
Storage* AllocateStorage(uint64_t nbytes, bool is_zeroed = false);

// A Storage over memory that `destroy` releases. Returns NULL when out of memory; the caller keeps the owner then. Any
// thread.
Storage* WrapStorage(void* data, uint64_t nbytes, void (*destroy)(Storage*), void* owner, uint64_t owner_id,
                     ThreadCache* cache = this_thread);

// Counts a storage of our own memory: 1 when it was allocated, -1 when it is destroyed. Any thread; `cache` is its own.
inline void CountStorage(const Storage* storage, int64_t change, ThreadCache* cache = this_thread) {
  Count(cache, Counter::kStorages, change);
  Count(cache, Counter::kBytes, change * static_cast<int64_t>(storage->nbytes));
}

// Frees the Storage itself, for `destroy`. Any thread.
inline void FreeStorage(Storage* storage) { GiveBlockBack(this_thread, kSmallBlock, storage); }

// Only the home thread itself ends being the home, so the answer stays true until that thread changes it.
inline bool IsHome(ThreadCache* cache, Storage* storage) {
  return cache != nullptr && storage->home.load(std::memory_order_relaxed) == cache;
}

// Any thread; `cache` is its own.
inline void RetainStorage(Storage* storage, ThreadCache* cache = this_thread) {
  static const uint32_t kAdvance = 64;
  if (!IsHome(cache, storage)) {
    storage->refs.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  if (storage->spares == 0) {
    storage->refs.fetch_add(kAdvance, std::memory_order_relaxed);
    storage->spares = kAdvance;
  }
  --storage->spares;
}

// Drops references that are not in reserve. Any thread; the thread that drops the last reference runs `destroy`.
inline void DropReferences(Storage* storage, uint32_t count) {
  // A thread that holds all references needs no locked instruction.
  if (storage->refs.load(std::memory_order_acquire) == count ||
      storage->refs.fetch_sub(count, std::memory_order_acq_rel) == count) {
    storage->destroy(storage);
  }
}

// Any thread; `cache` is its own. On the home thread the storage stays alive, because the table holds it.
inline void ReleaseStorage(Storage* storage, ThreadCache* cache = this_thread) {
  if (IsHome(cache, storage)) {
    ++storage->spares;
  } else {
    DropReferences(storage, 1);
  }
}

// While a scope exists on a thread, a storage whose release might wait for a lock defers its release, because
// finalizers must never wait.
class FinalizerScope {
 public:
  FinalizerScope();
  ~FinalizerScope();
  static bool IsActive();
};

}  // namespace dlpack
