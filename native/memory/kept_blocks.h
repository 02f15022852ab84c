// Kept blocks: large blocks of host memory that were released and wait for the next tensor of about their size. Fresh
// pages cost more than most work on them. The blocks belong to the process: any thread takes and releases them, also
// after the thread that allocated them has ended. DLPACK_REUSE_BYTES bounds them, and an idle process keeps none.
#pragma once

#include <stddef.h>
#include <stdint.h>

namespace dlpack {

struct ReleaseQueue;

// Pages of the system. `data` is aligned as platform::MapZeroed aligns it.
struct LargeBlock {
  void* data;
  void* base;
  size_t length;  // from `base`
};

// The smallest tensor that gets a large block.
static const uint64_t kLargeBlockSize = 1 << 20;

// A block of at least `nbytes` bytes: a kept one with old bytes of this process, or fresh pages, whose bits are zero.
// With `is_zeroed` always fresh pages, because the system clears only those that are used. False when out of memory.
// Any thread.
bool TakeLargeBlock(uint64_t nbytes, bool is_zeroed, LargeBlock* block);

// Keeps the block, or unmaps it. Older blocks are unmapped to make room. Any thread.
void ReleaseLargeBlock(const LargeBlock& block);

// Unmaps all kept blocks and returns their bytes. Any thread.
uint64_t TrimKeptBlocks();

// Unmaps all kept blocks if none was taken or added since the last call. True while there are blocks left to watch. For
// the instance that watches them, about once a second.
bool TrimIdleBlocks();

// Bytes of all kept blocks. Any thread.
uint64_t CountKeptBytes();

// Another instance takes over the watch, because the environment of this queue ends.
void EndWatch(ReleaseQueue* queue);

}  // namespace dlpack
