// Storage: a reference-counted block of memory. Plain C underneath: it may be released on any thread, with or without a
// JavaScript environment.
#ifndef DLPACK_NODE_STORAGE_H_
#define DLPACK_NODE_STORAGE_H_

#include <stdint.h>

#include <atomic>

#include "thread_cache.h"

namespace dlpack {

// References are counted in `refs`, by locked instructions. The thread that holds the storage for JavaScript, its home,
// keeps some of them in hand and gives and takes those without.
struct Storage {
  std::atomic<uint32_t> refs;
  // Some environment told its garbage collector about these bytes.
  std::atomic<bool> is_reported;
  void* data;
  uint64_t nbytes;
  // Gives the memory back and frees the Storage. Any thread.
  void (*destroy)(Storage* self);
  // What `destroy` needs: a managed tensor, or the release queue of an environment and a number in it.
  void* owner;
  uint64_t owner_id;
  // Streams with work on this memory, for `destroy` to wait for; see cuda/uses.h. NULL for nearly all.
  void* uses;
  // The thread whose table holds the storage, if one does; set and cleared by that thread alone, see environment.cc.
  std::atomic<ThreadCache*> home;
  // For the home thread alone: references in hand, and how often its table holds the storage (never zero there).
  uint32_t spares;
  uint32_t holds;
};

static_assert(sizeof(Storage) <= kSmallBlock, "a Storage is a small block");

// Memory of our own, aligned for every consumer. Returns NULL when there is none left. Any thread.
Storage* AllocateStorage(uint64_t nbytes, bool is_zeroed = false);

// A Storage over memory that `destroy` gives back. Returns NULL when out of memory; then nothing was taken. Any thread.
Storage* WrapStorage(void* data, uint64_t nbytes, void (*destroy)(Storage*), void* owner, uint64_t owner_id,
                     ThreadCache* cache = this_thread);

// Frees the Storage itself, for `destroy`. Any thread.
inline void FreeStorage(Storage* storage) { GiveBlockBack(this_thread, kSmallBlock, storage); }

// A thread that finds itself here stays the home until it says otherwise, so no other can be mistaken for it.
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

// Gives references back that are not in hand. Any thread; runs `destroy` on the one that drops the last reference.
inline void DropReferences(Storage* storage, uint32_t count) {
  // Whoever has all of them is alone.
  if (storage->refs.load(std::memory_order_acquire) == count ||
      storage->refs.fetch_sub(count, std::memory_order_acq_rel) == count) {
    storage->destroy(storage);
  }
}

// Any thread; `cache` is its own. At home the storage stays: the table holds it.
inline void ReleaseStorage(Storage* storage, ThreadCache* cache = this_thread) {
  if (IsHome(cache, storage)) {
    ++storage->spares;
  } else {
    DropReferences(storage, 1);
  }
}

// While one of these is in scope on a thread, a storage whose release might wait for another lock puts it off: the
// collector's finalizers must never wait.
class FinalizerScope {
 public:
  FinalizerScope();
  ~FinalizerScope();
  static bool IsActive();
};

}  // namespace dlpack

#endif  // DLPACK_NODE_STORAGE_H_
