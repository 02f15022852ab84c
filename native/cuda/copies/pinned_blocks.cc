#include "pinned_blocks.h"

#include <stdlib.h>

#include "../../lock.h"

namespace dlpack::cuda {

namespace {

// More uploads at once are possible, but their blocks are not kept.
const int kMostKept = 2;

Lock pinned_lock;
PinnedBlocks* idle;  // guarded by pinned_lock
int idle_count;

// A multiple of the lines of a cache that fits in every page.
const uintptr_t kPlaceInPage = 4096 - 64;
const uint64_t kPage = 4096;

// Blocks for an upload: small ones for a small upload, so that all together pin less than half of its bytes. Pinning
// them takes about as long as the driver needs to copy the upload without pinned memory.
uint64_t BlockBytesFor(uint64_t nbytes) {
  uint64_t bytes = kSmallestBlock;
  while (bytes < kLargestBlock && bytes * 64 < nbytes) bytes *= 2;
  return bytes;
}

// Idle blocks of the device for as many threads that are not much smaller than this, because pinning more memory takes
// longer than it saves; NULL when there is none.
PinnedBlocks* FindIdle(const Device* device, uint64_t block_bytes, uint32_t threads) {
  LockScope lock(&pinned_lock);
  for (PinnedBlocks** link = &idle; *link != nullptr; link = &(*link)->next) {
    PinnedBlocks* pinned = *link;
    if (pinned->device != device || pinned->threads < threads || pinned->block_bytes < block_bytes / 4) continue;
    *link = pinned->next;
    --idle_count;
    return pinned;
  }
  return nullptr;
}

// Whether the device still reads a block.
bool IsInUse(const PinnedBlocks* pinned) {
  RelaxedContextScope scope(pinned->device);
  for (EventHandle event : pinned->events) {
    if (event != nullptr && driver.EventQuery(event) == kNotReady) return true;
  }
  return false;
}

PinnedBlocks* MakePinned(const Device* device, uint64_t block_bytes, uint32_t threads, Result* result) {
  PinnedBlocks* pinned = static_cast<PinnedBlocks*>(calloc(1, sizeof(PinnedBlocks)));
  if (pinned == nullptr) {
    *result = kOutOfDeviceMemory;
    return nullptr;
  }
  pinned->device = device;
  pinned->block_bytes = block_bytes;
  pinned->threads = threads;
  const uint32_t blocks = threads * kBlocksOfThread;
  RelaxedContextScope scope(device);
  *result = scope.result();
  void* memory = nullptr;
  if (*result == kSuccess) *result = driver.MemHostAlloc(&memory, (block_bytes + kPage) * blocks, kHostPortable);
  pinned->memory = static_cast<char*>(memory);
  for (uint32_t i = 0; i < blocks && *result == kSuccess; ++i) {
    *result = driver.EventCreate(&pinned->events[i], kEventDisableTiming);
  }
  if (*result == kSuccess) *result = driver.EventCreate(&pinned->border, kEventDisableTiming);
  if (*result == kSuccess) *result = driver.StreamCreateWithPriority(&pinned->stream, kStreamNonBlocking, 0);
  if (*result == kSuccess) return pinned;
  FreePinned(pinned);
  return nullptr;
}

}  // namespace

char* PlaceInBlock(const PinnedBlocks* pinned, uint32_t block, const char* source) {
  return pinned->memory + block * (pinned->block_bytes + kPage) + (reinterpret_cast<uintptr_t>(source) & kPlaceInPage);
}

PinnedBlocks* TakePinned(const Device* device, uint64_t nbytes, uint32_t threads, Result* result) {
  const uint64_t block_bytes = BlockBytesFor(nbytes);
  *result = kSuccess;
  PinnedBlocks* pinned = FindIdle(device, block_bytes, threads);
  return pinned != nullptr ? pinned : MakePinned(device, block_bytes, threads, result);
}

void PutPinnedBack(PinnedBlocks* pinned) {
  {
    LockScope lock(&pinned_lock);
    if (idle_count < kMostKept) {
      pinned->next = idle;
      idle = pinned;
      ++idle_count;
      return;
    }
  }
  FreePinned(pinned);
}

void FreePinned(PinnedBlocks* pinned) {
  RelaxedContextScope scope(pinned->device);
  for (EventHandle event : pinned->events) {
    if (event == nullptr) continue;
    driver.EventSynchronize(event);  // an event that was never recorded has happened
    driver.EventDestroy(event);
  }
  if (pinned->border != nullptr) driver.EventDestroy(pinned->border);
  if (pinned->stream != nullptr) driver.StreamDestroy(pinned->stream);
  if (pinned->memory != nullptr) driver.MemFreeHost(pinned->memory);
  free(pinned);
}

bool FreeIdlePinned(bool may_wait) {
  for (;;) {
    PinnedBlocks* pinned;
    {
      LockScope lock(&pinned_lock);
      PinnedBlocks** link = &idle;
      while (*link != nullptr && !may_wait && IsInUse(*link)) link = &(*link)->next;
      pinned = *link;
      if (pinned == nullptr) return idle != nullptr;
      *link = pinned->next;
      --idle_count;
    }
    FreePinned(pinned);
  }
}

}  // namespace dlpack::cuda
