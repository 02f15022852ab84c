#include "kept_blocks.h"

#include <stdlib.h>
#include <string.h>

#include "../forked.h"
#include "../lock.h"
#include "../platform/platform.h"
#include "release_queue.h"

namespace dlpack {

namespace {

const uint64_t kDefaultLimit = uint64_t{256} << 20;
const int32_t kMostBlocks = 64;

Lock kept_lock;                // guards all below
LargeBlock kept[kMostBlocks];  // the oldest first
int32_t kept_count;
uint64_t kept_bytes;
uint64_t uses;       // how often a block was taken or added
uint64_t seen_uses;  // their number at the last call of TrimIdleBlocks
// The queue of the instance that calls TrimIdleBlocks in a while; NULL while nothing is kept.
ReleaseQueue* watcher;

// Blocks that leave the list under the lock and are unmapped after it, because unmapping takes long.
struct Removed {
  LargeBlock blocks[kMostBlocks + 1];
  int32_t count = 0;
  ~Removed() {
    for (int32_t i = 0; i < count; ++i) platform::UnmapMemory(blocks[i].base, blocks[i].length);
  }
};

uint64_t FindLimit() {
  const char* asked = getenv("DLPACK_REUSE_BYTES");
  const int64_t bytes = asked == nullptr ? static_cast<int64_t>(kDefaultLimit) : strtoll(asked, nullptr, 10);
  return bytes < 0 ? 0 : static_cast<uint64_t>(bytes);
}

uint64_t Limit() { return ComputeOnce<uint64_t, FindLimit>(); }

// Eight sizes for each power of two, so that a kept block fits tensors of similar size and wastes an eighth at most.
size_t RoundUp(uint64_t nbytes) {
  const uint64_t step = uint64_t{1} << (60 - __builtin_clzll(nbytes));
  const uint64_t rounded = (nbytes + step - 1) & ~(step - 1);
  return rounded > SIZE_MAX ? 0 : static_cast<size_t>(rounded);
}

// Under the lock.
void RemoveAt(int32_t index) {
  kept_bytes -= kept[index].length;
  --kept_count;
  memmove(&kept[index], &kept[index + 1], static_cast<size_t>(kept_count - index) * sizeof(LargeBlock));
}

// Under the lock. Returns the bytes.
uint64_t RemoveAll(Removed* removed) {
  const uint64_t bytes = kept_bytes;
  memcpy(removed->blocks + removed->count, kept, static_cast<size_t>(kept_count) * sizeof(LargeBlock));
  removed->count += kept_count;
  kept_count = 0;
  kept_bytes = 0;
  return bytes;
}

// Asks an instance to watch the blocks. Without an instance no block stays. Under the lock.
void StartWatch(Removed* removed) {
  seen_uses = uses;
  watcher = PostToAnyQueue(kWatchBlocks);
  if (watcher == nullptr) RemoveAll(removed);
}

// The newest block of this length, whose bytes the caches may still hold.
bool TakeKept(size_t length, LargeBlock* block) {
  LockScope scope(&kept_lock);
  for (int32_t i = kept_count - 1; i >= 0; --i) {
    if (kept[i].length != length) continue;
    *block = kept[i];
    RemoveAt(i);
    ++uses;
    return true;
  }
  return false;
}

}  // namespace

bool TakeLargeBlock(uint64_t nbytes, bool is_zeroed, LargeBlock* block) {
  const size_t rounded = RoundUp(nbytes);
  if (rounded == 0) return false;
  const size_t length = platform::MappedLength(rounded);
  // In a forked process a thread that does not exist there may hold the lock.
  if (!is_zeroed && !is_forked && TakeKept(length, block)) return true;
  block->data = platform::MapZeroed(rounded, &block->base);
  block->length = length;
  if (block->data != nullptr) return true;
  // The kept blocks may be what is missing.
  if (is_forked || TrimKeptBlocks() == 0) return false;
  block->data = platform::MapZeroed(rounded, &block->base);
  return block->data != nullptr;
}

void ReleaseLargeBlock(const LargeBlock& block) {
  if (is_forked || block.length > Limit()) {
    platform::UnmapMemory(block.base, block.length);
    return;
  }
  Removed removed;
  LockScope scope(&kept_lock);
  while (kept_count == kMostBlocks || kept_bytes + block.length > Limit()) {
    removed.blocks[removed.count++] = kept[0];
    RemoveAt(0);
  }
  kept[kept_count++] = block;
  kept_bytes += block.length;
  ++uses;
  if (watcher == nullptr) StartWatch(&removed);
}

uint64_t TrimKeptBlocks() {
  Removed removed;
  LockScope scope(&kept_lock);
  return RemoveAll(&removed);
}

bool TrimIdleBlocks() {
  Removed removed;
  LockScope scope(&kept_lock);
  if (uses == seen_uses) RemoveAll(&removed);
  seen_uses = uses;
  if (kept_count == 0) watcher = nullptr;
  return kept_count > 0;
}

uint64_t CountKeptBytes() {
  LockScope scope(&kept_lock);
  return kept_bytes;
}

void EndWatch(ReleaseQueue* queue) {
  Removed removed;
  LockScope scope(&kept_lock);
  if (watcher != queue) return;
  watcher = nullptr;
  if (kept_count > 0) StartWatch(&removed);
}

}  // namespace dlpack
