#include "memory.h"

#include <stdlib.h>

#include "../streams/watcher.h"

namespace dlpack::cuda {

namespace {

struct Block {
  Device* device;
  StreamHandle allocation_stream;
  Stream* stream;  // keeps the allocation stream alive if we made it
  int size_class;  // in the cache; -1: not cached
};

Block* BlockOf(const Storage* storage) { return static_cast<Block*>(storage->owner); }

void FreeBlock(Storage* self) {
  Block* block = BlockOf(self);
  if (block->stream != nullptr) ReleaseStream(block->stream);
  free(block);
  FreeStorage(self);
}

Address AddressOf(const Storage* storage) { return reinterpret_cast<Address>(storage->data); }

// The cache of the stream that a block was allocated on; NULL for foreign streams, because we are not told when they
// are destroyed.
BlockCache* CacheOf(const Block* block) {
  if (block->allocation_stream == kLegacyStream) return &block->device->cache;
  return block->stream == nullptr ? nullptr : &block->stream->cache;
}

bool IsCaptured(const Block* block) {
  if (block->allocation_stream == kLegacyStream) return false;
  ContextScope scope(block->device);
  return IsCapturing(block->allocation_stream);
}

// Frees the memory behind the work that is queued on the allocation stream.
void FreePooled(Storage* self) {
  const Block* block = BlockOf(self);
  ContextScope scope(block->device);
  // If the allocation stream is being captured, the graph would free the memory each time it runs.
  const StreamHandle stream =
      IsCapturing(block->allocation_stream) ? block->device->side_stream : block->allocation_stream;
  if (self->data != nullptr) driver.MemFreeAsync(AddressOf(self), stream);
}

void DestroyPooled(Storage* self) {
  Block* block = BlockOf(self);
  // Work from before the capture may still use the memory, and nothing can be queued behind that work until the capture
  // ends.
  const auto destroy = [](void* storage) { DestroyPooled(static_cast<Storage*>(storage)); };
  if (self->data != nullptr && IsCaptured(block) &&
      WatchCapture(block->device, block->allocation_stream, destroy, self))
    return;
  CountStorage(self, -1);
  BlockCache* cache = block->size_class < 0 ? nullptr : CacheOf(block);
  if (cache != nullptr) {
    Stream* stream = block->stream;
    block->stream = nullptr;  // a block in the cache must not keep the stream, which owns the cache
    if (cache->Put(block->size_class, self)) {
      if (stream != nullptr) ReleaseStream(stream);
      return;
    }
    block->stream = stream;
  }
  FreePooled(self);
  FreeBlock(self);
}

// The driver waits for the device here. uses.cc has waited, without blocking, for the work that was noted.
template <bool kIsPinned>
void DestroyDirect(Storage* self) {
  CountStorage(self, -1);
  if (self->data != nullptr) {
    RelaxedContextScope scope(BlockOf(self)->device);
    kIsPinned ? driver.MemFreeHost(self->data) : driver.MemFree(AddressOf(self));
  }
  FreeBlock(self);
}

// Skips the caches of streams that are captured into a graph, because nothing can be queued behind their earlier work.
void FlushCaches(Device* device) {
  FlushCache(&device->cache);
  ContextScope scope(device);
  ForEachStream(device, [](Stream* stream) {
    if (!IsCapturing(stream->handle)) FlushCache(&stream->cache);
  });
}

// The stream on which an allocation for `stream` is queued. It is `stream` itself, except while `stream` is captured
// into a graph: then it is the side stream. For the default stream of a thread it is the legacy stream, because other
// threads cannot name that stream, and the legacy stream is ordered with it.
StreamHandle ChooseAllocationStream(const Device* device, StreamHandle stream) {
  if (stream == kPerThreadStream) return kLegacyStream;
  return IsCapturing(stream) ? device->side_stream : stream;
}

Result AllocatePooled(Device* device, size_t bytes, StreamHandle allocation_stream, Address* address) {
  RelaxedScope relaxed;
  Result result = driver.MemAllocFromPoolAsync(address, bytes, device->pool, allocation_stream);
  if (result != kOutOfDeviceMemory) return result;
  // Released memory may be behind queued work, kept for later, or in pieces that are too small. This does not wait for
  // the whole device, which would break graphs that other threads are capturing.
  FlushCaches(device);
  result = driver.StreamSynchronize(allocation_stream);
  if (result == kSuccess) result = driver.MemPoolTrimTo(device->pool, 0);
  return result == kSuccess ? driver.MemAllocFromPoolAsync(address, bytes, device->pool, allocation_stream) : result;
}

// A small block from the cache of its stream.
Storage* TakeCached(const Block& block, uint64_t nbytes) {
  BlockCache* cache = block.size_class < 0 ? nullptr : CacheOf(&block);
  Storage* storage = cache == nullptr ? nullptr : cache->Take(block.size_class);
  if (storage == nullptr) return nullptr;
  BlockOf(storage)->stream = block.stream;
  storage->refs.store(1, std::memory_order_relaxed);
  storage->nbytes = nbytes;
  storage->is_reported.store(false, std::memory_order_relaxed);
  CountStorage(storage, 1);
  return storage;
}

Storage* NewBlock(Device* device, uint64_t nbytes, void (*destroy)(Storage*), Result* result) {
  Block* block = static_cast<Block*>(malloc(sizeof(Block)));
  Storage* storage = block == nullptr ? nullptr : WrapStorage(nullptr, nbytes, destroy, block, 0);
  if (storage == nullptr) {
    free(block);
    *result = kOutOfDeviceMemory;
    return nullptr;
  }
  *block = Block{device, nullptr, nullptr, -1};
  return storage;
}

Storage* AllocateOnStream(Device* device, uint64_t nbytes, StreamHandle stream, Result* result) {
  const StreamHandle allocation_stream = ChooseAllocationStream(device, stream);
  Stream* own = allocation_stream == kLegacyStream ? nullptr : FindStream(allocation_stream);
  const int size_class = nbytes == 0 ? -1 : BlockCache::ClassOf(nbytes);
  const Block block = {device, allocation_stream, own, size_class};
  *result = kSuccess;
  Storage* storage = TakeCached(block, nbytes);
  if (storage != nullptr) return storage;
  storage = NewBlock(device, nbytes, DestroyPooled, result);
  Address address = 0;
  if (storage != nullptr && nbytes > 0) {
    ContextScope scope(device);
    const size_t bytes = static_cast<size_t>(size_class < 0 ? nbytes : BlockCache::BytesOf(size_class));
    *result = AllocatePooled(device, bytes, allocation_stream, &address);
    if (*result == kSuccess && allocation_stream == device->side_stream) {
      // Nothing else orders the capturing stream after the side stream.
      RelaxedScope relaxed;
      *result = driver.StreamSynchronize(allocation_stream);
      if (*result != kSuccess) driver.MemFreeAsync(address, allocation_stream);
    }
  }
  if (storage == nullptr || *result != kSuccess) {
    if (own != nullptr) ReleaseStream(own);
    if (storage != nullptr) FreeBlock(storage);
    return nullptr;
  }
  *BlockOf(storage) = block;
  storage->data = reinterpret_cast<void*>(address);
  CountStorage(storage, 1);
  return storage;
}

// `bytes` of memory for a storage of `nbytes`.
Storage* AllocateDirectly(DLDeviceType type, Device* device, uint64_t nbytes, size_t bytes, Result* result) {
  Storage* storage = NewBlock(device, nbytes, type == kDLCUDAHost ? DestroyDirect<true> : DestroyDirect<false>, result);
  if (storage == nullptr) return nullptr;
  RelaxedContextScope scope(device);
  Address address = 0;
  void* memory = nullptr;
  *result = scope.result();
  if (*result == kSuccess && bytes > 0) {
    *result = type == kDLCUDAHost      ? driver.MemHostAlloc(&memory, bytes, kHostPortable)
              : type == kDLCUDAManaged ? driver.MemAllocManaged(&address, bytes, kAttachGlobal)
                                       : driver.MemAlloc(&address, bytes);
  }
  if (*result != kSuccess) {
    FreeBlock(storage);
    return nullptr;
  }
  storage->data = memory != nullptr ? memory : reinterpret_cast<void*>(address);
  CountStorage(storage, 1);
  return storage;
}

}  // namespace

StreamRef AllocationStream(const Storage* storage, void (*destroy)(Storage*)) {
  if (destroy != DestroyPooled) return StreamRef{nullptr, nullptr};
  return StreamRef{BlockOf(storage)->device, BlockOf(storage)->allocation_stream};
}

Storage* AllocateMemory(DLDeviceType type, Device* device, uint64_t nbytes, StreamHandle stream, Result* result) {
  return type == kDLCUDA && device->pool != nullptr
             ? AllocateOnStream(device, nbytes, stream, result)
             : AllocateDirectly(type, device, nbytes, static_cast<size_t>(nbytes), result);
}

Storage* AllocateShareable(Device* device, uint64_t nbytes, Result* result) {
  // The driver packs several small blocks into one page, and maps whole pages for another process.
  const uint64_t page = uint64_t{2} << 20;
  return AllocateDirectly(kDLCUDA, device, nbytes, static_cast<size_t>((nbytes + page - 1) & ~(page - 1)), result);
}

void FlushCache(BlockCache* cache) {
  for (int size_class = 0; size_class <= BlockCache::kLargest - BlockCache::kSmallest; ++size_class) {
    for (Storage* storage = cache->Take(size_class); storage != nullptr; storage = cache->Take(size_class)) {
      FreePooled(storage);
      FreeBlock(storage);
    }
  }
}

Result TrimPool(Device* device) {
  if (device->pool == nullptr) return kSuccess;
  FlushCaches(device);
  RelaxedContextScope scope(device);
  const Result result = driver.CtxSynchronize();
  return result == kSuccess ? driver.MemPoolTrimTo(device->pool, 0) : result;
}

}  // namespace dlpack::cuda
