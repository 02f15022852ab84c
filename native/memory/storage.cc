#include "storage.h"

#include <string.h>

#include "../platform/platform.h"
#include "kept_blocks.h"

namespace dlpack {

static thread_local int finalizer_scopes;

FinalizerScope::FinalizerScope() { ++finalizer_scopes; }
FinalizerScope::~FinalizerScope() { --finalizer_scopes; }
bool FinalizerScope::IsActive() { return finalizer_scopes > 0; }

// The address of all tensors without elements, for consumers that require a valid address.
alignas(256) static char empty_block[256];

static void DestroyOwned(Storage* self) {
  CountStorage(self, -1);
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
  storage->is_import = false;
  storage->home.store(nullptr, std::memory_order_relaxed);
  storage->spares = 0;
  storage->holds = 0;
  return storage;
}

// The memory is a LargeBlock: `owner` is its base and `owner_id` its length.
static void DestroyLarge(Storage* self) {
  CountStorage(self, -1);
  ReleaseLargeBlock(LargeBlock{self->data, self->owner, static_cast<size_t>(self->owner_id)});
  FreeStorage(self);
}

// As DestroyLarge. Pages that no one used are worth nothing to the next tensor, so they do not displace other blocks.
static void DestroyZeroed(Storage* self) {
  if (!platform::IsFresh(self->data, static_cast<int64_t>(self->nbytes))) return DestroyLarge(self);
  CountStorage(self, -1);
  platform::UnmapMemory(self->owner, static_cast<size_t>(self->owner_id));
  FreeStorage(self);
}

static Storage* MakeLarge(uint64_t nbytes, bool is_zeroed) {
  LargeBlock block;
  if (!TakeLargeBlock(nbytes, is_zeroed, &block)) return nullptr;
  Storage* storage =
      WrapStorage(block.data, nbytes, is_zeroed ? DestroyZeroed : DestroyLarge, block.base, block.length);
  if (storage == nullptr) platform::UnmapMemory(block.base, block.length);
  return storage;
}

static void DestroySmall(Storage* self) {
  ThreadCache* cache = this_thread;
  CountStorage(self, -1, cache);
  GiveDataBlockBack(cache, self->data);
  GiveBlockBack(cache, kSmallBlock, self);
}

static Storage* MakeSmall(uint64_t nbytes) {
  ThreadCache* cache = this_thread;
  void* data = AllocateDataBlock(cache);
  Storage* storage = data == nullptr ? nullptr : WrapStorage(data, nbytes, DestroySmall, nullptr, 0, cache);
  if (storage == nullptr && data != nullptr) GiveDataBlockBack(cache, data);
  return storage;
}

static Storage* MakeStorage(uint64_t nbytes) {
  void* data = nbytes == 0 ? empty_block : platform::AllocateMemory(static_cast<size_t>(nbytes));
  if (data == nullptr) return nullptr;
  Storage* storage = WrapStorage(data, nbytes, DestroyOwned, nullptr, 0);
  if (storage == nullptr && nbytes > 0) platform::FreeMemory(data);
  return storage;
}

Storage* AllocateStorage(uint64_t nbytes, bool is_zeroed) {
  if (nbytes > SIZE_MAX) return nullptr;
  const bool is_large = nbytes >= kLargeBlockSize;
  Storage* storage = is_large                             ? MakeLarge(nbytes, is_zeroed)
                     : nbytes > 0 && nbytes <= kDataBlock ? MakeSmall(nbytes)
                                                          : MakeStorage(nbytes);
  if (storage == nullptr) return nullptr;
  if (is_zeroed && !is_large) memset(storage->data, 0, static_cast<size_t>(nbytes));
  CountStorage(storage, 1);
  return storage;
}

}  // namespace dlpack
