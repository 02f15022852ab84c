#include "memory.h"

#include <stdlib.h>

namespace dlpack {
namespace cuda {

namespace {

struct Block {
  const Device* device;
  StreamHandle home;
  Stream* stream;  // keeps the home stream if it is one of ours
};

void FreeBlock(Storage* self) {
  Block* block = static_cast<Block*>(self->owner);
  if (block->stream != nullptr) ReleaseStream(block->stream);
  free(block);
  Count(counts.bytes, -static_cast<int64_t>(self->nbytes));
  Count(counts.storages, -1);
  free(self);
}

Address AddressOf(const Storage* storage) { return reinterpret_cast<Address>(storage->data); }

// Stream-ordered: the memory goes back behind the work that its home stream has.
void DestroyPooled(Storage* self) {
  const Block* block = static_cast<Block*>(self->owner);
  {
    ContextScope scope(block->device);
    // A stream that is captured into a graph would free the memory each time the graph runs.
    const StreamHandle stream = IsCapturing(block->home) ? block->device->side_stream : block->home;
    if (self->nbytes > 0) driver.MemFreeAsync(AddressOf(self), stream);
  }
  FreeBlock(self);
}

// The driver waits for the device here; uses.cc has waited for what we know of without blocking.
void DestroyDevice(Storage* self) {
  {
    ContextScope scope(static_cast<Block*>(self->owner)->device);
    RelaxedScope relaxed;
    if (self->nbytes > 0) driver.MemFree(AddressOf(self));
  }
  FreeBlock(self);
}

void DestroyPinned(Storage* self) {
  {
    ContextScope scope(static_cast<Block*>(self->owner)->device);
    RelaxedScope relaxed;
    if (self->nbytes > 0) driver.MemFreeHost(self->data);
  }
  FreeBlock(self);
}

// Where an allocation is queued: the stream it is for, or one beside it while that is captured into a graph, or the
// one that orders itself with the streams of all threads where a thread's own has no name on others.
StreamHandle ChooseHome(const Device* device, StreamHandle stream) {
  if (stream == kPerThreadStream) return kLegacyStream;
  return IsCapturing(stream) ? device->side_stream : stream;
}

Result AllocatePooled(const Device* device, size_t bytes, StreamHandle home, Address* address) {
  Result result = driver.MemAllocFromPoolAsync(address, bytes, device->pool, home);
  if (result != kOutOfDeviceMemory) return result;
  // Memory that was released may still be behind queued work, or in pieces too small.
  RelaxedScope relaxed;
  driver.CtxSynchronize();
  driver.MemPoolTrimTo(device->pool, 0);
  return driver.MemAllocFromPoolAsync(address, bytes, device->pool, home);
}

}  // namespace

StreamHandle HomeStream(const Storage* storage, void (*destroy)(Storage*)) {
  return destroy == DestroyPooled ? static_cast<const Block*>(storage->owner)->home : nullptr;
}

Storage* AllocateMemory(MemoryKind kind, Device* device, uint64_t nbytes, StreamHandle stream, Result* result) {
  const size_t bytes = static_cast<size_t>(nbytes);
  Block* block = static_cast<Block*>(malloc(sizeof(Block)));
  Storage* storage = block == nullptr ? nullptr : WrapStorage(nullptr, nbytes, nullptr, block, 0);
  if (storage == nullptr) {
    free(block);
    *result = kOutOfDeviceMemory;
    return nullptr;
  }
  block->device = device;
  block->home = nullptr;
  block->stream = nullptr;
  ContextScope scope(device);
  Address address = 0;
  void* memory = nullptr;
  *result = scope.result();
  if (kind == kDeviceMemory && device->pool != nullptr) {
    block->home = ChooseHome(device, stream);
    storage->destroy = DestroyPooled;
    if (*result == kSuccess && bytes > 0) *result = AllocatePooled(device, bytes, block->home, &address);
    if (*result == kSuccess && block->home == device->side_stream) {
      // Nobody else waits for this stream.
      RelaxedScope relaxed;
      *result = driver.StreamSynchronize(block->home);
    }
    if (*result == kSuccess && block->home != kLegacyStream) block->stream = FindStream(block->home);
  } else {
    RelaxedScope relaxed;
    storage->destroy = kind == kPinnedMemory ? DestroyPinned : DestroyDevice;
    if (*result != kSuccess || bytes == 0) {
    } else if (kind == kPinnedMemory) {
      *result = driver.MemHostAlloc(&memory, bytes, kHostPortable);
    } else if (kind == kManagedMemoryKind) {
      *result = driver.MemAllocManaged(&address, bytes, kAttachGlobal);
    } else {
      *result = driver.MemAlloc(&address, bytes);
    }
  }
  if (*result != kSuccess) {
    free(block);
    free(storage);
    return nullptr;
  }
  storage->data = memory != nullptr ? memory : reinterpret_cast<void*>(address);
  Count(counts.storages, 1);
  Count(counts.bytes, static_cast<int64_t>(nbytes));
  return storage;
}

Result TrimPool(const Device* device) {
  if (device->pool == nullptr) return kSuccess;
  ContextScope scope(device);
  RelaxedScope relaxed;
  const Result result = driver.CtxSynchronize();
  return result == kSuccess ? driver.MemPoolTrimTo(device->pool, 0) : result;
}

}  // namespace cuda
}  // namespace dlpack
