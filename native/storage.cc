#include "storage.h"

#include <string.h>

#include "platform/platform.h"

namespace dlpack {

static thread_local int finalizer_scopes;

FinalizerScope::FinalizerScope() { ++finalizer_scopes; }
FinalizerScope::~FinalizerScope() { --finalizer_scopes; }
bool FinalizerScope::IsActive() { return finalizer_scopes > 0; }

// The address of all tensors without elements, for consumers that require a valid address.
alignas(256) static char empty_block[256];

static void DestroyOwned(Storage* self) {
  Count(counts.bytes, -static_cast<int64_t>(self->nbytes));
  Count(counts.storages, -1);
  if (self->data != empty_block) platform::FreeMemory(self->data);
  FreeStorage(self);
}

Storage* WrapStorage(void* data, uint64_t nbytes, void (*destroy)(Storage*), void* owner, uint64_t owner_id,
                     ThreadCache* cache) {
  Storage* storage = static_cast<Storage*>(AllocateBlock(cache, kSmallBlock));
  if (storage == nullptr) return nullptr;
  storage->refs.store(1, std::memory_order_relaxed);
  storage->data = data;
  storage->nbytes = nbytes;
  storage->destroy = destroy;
  storage->owner = owner;
  storage->owner_id = owner_id;
  storage->uses = nullptr;
  storage->is_reported.store(false, std::memory_order_relaxed);
  storage->home.store(nullptr, std::memory_order_relaxed);
  storage->spares = 0;
  storage->holds = 0;
  return storage;
}

// From this size on zeroed memory comes from the system, which clears its pages when they are first used.
static const uint64_t kMappedSize = 1 << 20;

static void DestroyMapped(Storage* self) {
  Count(counts.bytes, -static_cast<int64_t>(self->nbytes));
  Count(counts.storages, -1);
  platform::UnmapMemory(self->owner, static_cast<size_t>(self->owner_id));
  FreeStorage(self);
}

static Storage* MapStorage(uint64_t nbytes) {
  void* base = nullptr;
  size_t length = 0;
  void* data = platform::MapZeroed(static_cast<size_t>(nbytes), &base, &length);
  if (data == nullptr) return nullptr;
  Storage* storage = WrapStorage(data, nbytes, DestroyMapped, base, length);
  if (storage == nullptr) platform::UnmapMemory(base, length);
  return storage;
}

static Storage* MakeStorage(uint64_t nbytes, bool is_zeroed) {
  void* data = nbytes == 0 ? empty_block : platform::AllocateMemory(static_cast<size_t>(nbytes));
  if (data == nullptr) return nullptr;
  Storage* storage = WrapStorage(data, nbytes, DestroyOwned, nullptr, 0);
  if (storage == nullptr && nbytes > 0) platform::FreeMemory(data);
  if (storage != nullptr && is_zeroed) memset(data, 0, static_cast<size_t>(nbytes));
  return storage;
}

Storage* AllocateStorage(uint64_t nbytes, bool is_zeroed) {
  if (nbytes > SIZE_MAX) return nullptr;
  Storage* storage = is_zeroed && nbytes >= kMappedSize ? MapStorage(nbytes) : MakeStorage(nbytes, is_zeroed);
  if (storage == nullptr) return nullptr;
  Count(counts.storages, 1);
  Count(counts.bytes, static_cast<int64_t>(nbytes));
  return storage;
}

}  // namespace dlpack
