// Storage: a reference-counted block of memory. Plain C underneath: it may be released on any thread, with or without a
// JavaScript environment.
#ifndef DLPACK_NODE_STORAGE_H_
#define DLPACK_NODE_STORAGE_H_

#include <stdint.h>

#include <atomic>

namespace dlpack {

struct Storage {
  std::atomic<uint32_t> refs;
  void* data;
  uint64_t nbytes;
  // Gives the memory back and frees the Storage. Any thread.
  void (*destroy)(Storage* self);
  // What `destroy` needs: a managed tensor, or the release queue of an environment and a number in it.
  void* owner;
  uint64_t owner_id;
  // Streams with work on this memory, for `destroy` to wait for; see cuda/uses.h. NULL for nearly all.
  void* uses;
  // Some environment told its garbage collector about these bytes.
  std::atomic<bool> is_reported;
};

// Memory of our own, aligned for every consumer. Returns NULL when there is none left. Any thread.
Storage* AllocateStorage(uint64_t nbytes);

// A Storage over memory that `destroy` gives back. Returns NULL when out of memory; then nothing was taken. Any thread.
Storage* WrapStorage(void* data, uint64_t nbytes, void (*destroy)(Storage*), void* owner, uint64_t owner_id);

// Any thread.
inline void RetainStorage(Storage* storage, uint32_t count = 1) {
  storage->refs.fetch_add(count, std::memory_order_relaxed);
}

// Any thread; runs `destroy` on the one that drops the last reference.
inline void ReleaseStorage(Storage* storage, uint32_t count = 1) {
  // Whoever holds all references needs no locked instruction: nobody else is left to take one.
  if (storage->refs.load(std::memory_order_acquire) == count ||
      storage->refs.fetch_sub(count, std::memory_order_acq_rel) == count) {
    storage->destroy(storage);
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

// What is alive in this process.
struct Counts {
  std::atomic<int64_t> storages;
  std::atomic<int64_t> bytes;
  std::atomic<int64_t> imports;
  std::atomic<int64_t> exports;
  std::atomic<int64_t> tickets;
};
extern Counts counts;

inline void Count(std::atomic<int64_t>& counter, int64_t delta) { counter.fetch_add(delta, std::memory_order_relaxed); }

}  // namespace dlpack

#endif  // DLPACK_NODE_STORAGE_H_
