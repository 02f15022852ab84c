#include "stage.h"

#include <stdlib.h>

#include "../lock.h"

namespace dlpack {
namespace cuda {

namespace {

// More uploads at once are possible, but their stages are not kept.
const int kMostKept = 2;

Lock stages_lock;
Stage* idle;  // guarded by stages_lock
int idle_count;

// Blocks for an upload: small ones for a small upload, which pins less.
uint64_t BlockBytesFor(uint64_t nbytes) {
  uint64_t bytes = kSmallestBlock;
  while (bytes < kLargestBlock && bytes * kStageBlocks < nbytes) bytes *= 2;
  return bytes;
}

// An idle stage of the device whose blocks are not much smaller than this, because pinning more memory takes longer
// than it saves; NULL when there is none.
Stage* FindIdle(const Device* device, uint64_t block_bytes) {
  LockScope lock(&stages_lock);
  for (Stage** link = &idle; *link != nullptr; link = &(*link)->next) {
    Stage* stage = *link;
    if (stage->device != device || stage->block_bytes < block_bytes / 4) continue;
    *link = stage->next;
    --idle_count;
    return stage;
  }
  return nullptr;
}

// Whether the device still reads a block.
bool IsInUse(const Stage* stage) {
  ContextScope scope(stage->device);
  RelaxedScope relaxed;
  for (EventHandle event : stage->events) {
    if (driver.EventQuery(event) == kNotReady) return true;
  }
  return false;
}

Stage* MakeStage(const Device* device, uint64_t block_bytes, Result* result) {
  Stage* stage = static_cast<Stage*>(calloc(1, sizeof(Stage)));
  if (stage == nullptr) {
    *result = kOutOfDeviceMemory;
    return nullptr;
  }
  stage->device = device;
  stage->block_bytes = block_bytes;
  ContextScope scope(device);
  RelaxedScope relaxed;
  *result = scope.result();
  void* memory = nullptr;
  if (*result == kSuccess) *result = driver.MemHostAlloc(&memory, block_bytes * kStageBlocks, kHostPortable);
  stage->memory = static_cast<char*>(memory);
  for (uint32_t i = 0; i < kStageBlocks && *result == kSuccess; ++i) {
    *result = driver.EventCreate(&stage->events[i], kEventDisableTiming);
  }
  if (*result == kSuccess) return stage;
  FreeStage(stage);
  return nullptr;
}

}  // namespace

Stage* TakeStage(const Device* device, uint64_t nbytes, Result* result) {
  const uint64_t block_bytes = BlockBytesFor(nbytes);
  *result = kSuccess;
  Stage* stage = FindIdle(device, block_bytes);
  return stage != nullptr ? stage : MakeStage(device, block_bytes, result);
}

void PutStageBack(Stage* stage) {
  {
    LockScope lock(&stages_lock);
    if (idle_count < kMostKept) {
      stage->next = idle;
      idle = stage;
      ++idle_count;
      return;
    }
  }
  FreeStage(stage);
}

void FreeStage(Stage* stage) {
  ContextScope scope(stage->device);
  RelaxedScope relaxed;
  for (EventHandle event : stage->events) {
    if (event == nullptr) continue;
    driver.EventSynchronize(event);  // an event that was never recorded has happened
    driver.EventDestroy(event);
  }
  if (stage->memory != nullptr) driver.MemFreeHost(stage->memory);
  free(stage);
}

bool FreeIdleStages(bool may_wait) {
  for (;;) {
    Stage* stage;
    {
      LockScope lock(&stages_lock);
      Stage** link = &idle;
      while (*link != nullptr && !may_wait && IsInUse(*link)) link = &(*link)->next;
      stage = *link;
      if (stage == nullptr) return idle != nullptr;
      *link = stage->next;
      --idle_count;
    }
    FreeStage(stage);
  }
}

}  // namespace cuda
}  // namespace dlpack
