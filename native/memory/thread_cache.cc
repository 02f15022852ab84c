#include "thread_cache.h"

#include "../lock.h"

namespace dlpack {

Counts counts;
__thread ThreadCache* this_thread;

static ThreadCache* caches;
static Lock caches_lock;

ThreadCache* OpenThreadCache() {
  ThreadCache* cache = this_thread;
  if (cache == nullptr) {
    cache = static_cast<ThreadCache*>(calloc(1, sizeof(ThreadCache)));
    if (cache == nullptr) return nullptr;
    LockScope scope(&caches_lock);
    cache->next = caches;
    caches = cache;
    this_thread = cache;
  }
  ++cache->environments;
  return cache;
}

static void FreeAll(FreeList* list, void (*free_block)(void*)) {
  while (void* block = list->Take()) free_block(block);
}

void CloseThreadCache(ThreadCache* cache) {
  // Some runtimes end an environment on another thread. Then the cache stays, because its own thread still points to
  // it.
  if (--cache->environments > 0 || cache != this_thread) return;
  this_thread = nullptr;
  FreeAll(&cache->small, free);
  FreeAll(&cache->large, free);
  FreeAll(&cache->data, platform::FreeMemory);
  {
    LockScope scope(&caches_lock);
    ThreadCache** at = &caches;
    while (*at != cache) at = &(*at)->next;
    *at = cache->next;
    for (uint32_t i = 0; i < kCounters; ++i) {
      counts.values[i].fetch_add(cache->counts.values[i].load(std::memory_order_relaxed), std::memory_order_relaxed);
    }
  }
  free(cache);
}

int64_t CountOf(Counter counter) {
  LockScope scope(&caches_lock);
  int64_t sum = counts[counter].load(std::memory_order_relaxed);
  for (ThreadCache* cache = caches; cache != nullptr; cache = cache->next) {
    sum += cache->counts[counter].load(std::memory_order_relaxed);
  }
  return sum;
}

}  // namespace dlpack
