// Thread cache: data that a JavaScript thread keeps to itself, so that an exchange on it needs no lock, no locked
// instruction and no call of malloc. Other threads have no cache and take a slower path.
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <atomic>

#include "../hidden.h"
#include "../platform/platform.h"

namespace dlpack {

// What is counted: live objects, and the bytes of live storages.
enum class Counter : uint32_t { kStorages, kBytes, kImports, kExports, kTickets };
static const uint32_t kCounters = 5;

// The counts of this process, or one thread's share of them.
struct Counts {
  std::atomic<int64_t> values[kCounters];

  std::atomic<int64_t>& operator[](Counter counter) { return values[static_cast<uint32_t>(counter)]; }
};

// The share of threads without a cache, and of threads that have ended.
DLPACK_HIDDEN extern Counts counts;

struct FreeBlock {
  FreeBlock* next;
};

static const size_t kSmallBlock = 72;      // a Storage; malloc takes 80 bytes for it, as for 64
static const size_t kLargeBlock = 192;     // a managed tensor of a few axes
static const size_t kDataBlock = 256;      // the elements of a small tensor, aligned to as many bytes
static const uint32_t kKeptBlocks = 1024;  // of each size; more than a burst of exchanges needs at a time

// Blocks of one size that were freed on this thread.
struct FreeList {
  FreeBlock* first;
  uint32_t length;

  // NULL when the list is empty.
  void* Take() {
    FreeBlock* block = first;
    if (block == nullptr) return nullptr;
    first = block->next;
    --length;
    return block;
  }
  // False when the list is full.
  bool Put(void* pointer) {
    if (length >= kKeptBlocks) return false;
    FreeBlock* block = static_cast<FreeBlock*>(pointer);
    block->next = first;
    first = block;
    ++length;
    return true;
  }
};

struct ThreadCache {
  ThreadCache* next;  // links the caches of all threads
  Counts counts;      // written by this thread alone
  FreeList small;
  FreeList large;
  FreeList data;
  uint32_t environments;  // JavaScript environments of this thread
  bool is_returning;      // python::ReturnScope
};

// NULL on a thread that runs no JavaScript. Not `thread_local`, because each access to that would call a function.
DLPACK_HIDDEN extern __thread ThreadCache* this_thread;

// The cache of this thread for one more environment; NULL when out of memory.
ThreadCache* OpenThreadCache();

// An environment of this thread ends.
void CloseThreadCache(ThreadCache* cache);

// Any thread; `cache` is its own.
inline void Count(ThreadCache* cache, Counter counter, int64_t delta) {
  if (cache == nullptr) {
    counts[counter].fetch_add(delta, std::memory_order_relaxed);
    return;
  }
  std::atomic<int64_t>& own = cache->counts[counter];
  own.store(own.load(std::memory_order_relaxed) + delta, std::memory_order_relaxed);
}
inline void Count(Counter counter, int64_t delta) { Count(this_thread, counter, delta); }

// The sum over all threads. Any thread.
int64_t CountOf(Counter counter);

// Blocks of kSmallBlock or kLargeBlock bytes. They come from malloc when the cache is empty and go to free when it is
// full. Any thread; `cache` is its own. A block may be freed on another thread than the one that allocated it.
inline void* AllocateBlock(ThreadCache* cache, size_t size) {
  if (cache == nullptr) return malloc(size);
  void* block = (size == kSmallBlock ? cache->small : cache->large).Take();
  return block == nullptr ? malloc(size) : block;
}

inline void GiveBlockBack(ThreadCache* cache, size_t size, void* pointer) {
  if (cache == nullptr || !(size == kSmallBlock ? cache->small : cache->large).Put(pointer)) free(pointer);
}

// A block of kDataBlock bytes, as above; NULL when out of memory.
inline void* AllocateDataBlock(ThreadCache* cache) {
  void* block = cache == nullptr ? nullptr : cache->data.Take();
  return block == nullptr ? platform::AllocateMemory(kDataBlock) : block;
}

inline void GiveDataBlockBack(ThreadCache* cache, void* pointer) {
  if (cache == nullptr || !cache->data.Put(pointer)) platform::FreeMemory(pointer);
}

}  // namespace dlpack
