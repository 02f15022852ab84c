// Pinned memory for uploads, in blocks, with an event behind the last copy out of each block. It is kept after
// an upload, because pinning a MiB takes half a millisecond, and because the next upload need not wait for the copies
// of the last one. Any thread.
#pragma once

#include "device.h"

namespace dlpack::cuda {

// Each thread uses two blocks, so eight threads can fill them all. Measured on an H200 with 16 cores, of the bandwidth
// of pinned memory: blocks of 1 MiB reach 0.90, of 2 MiB 0.95, of 4 MiB 0.97.
static const uint32_t kPinnedBlocks = 16;
static const uint64_t kLargestBlock = 4 << 20;
static const uint64_t kSmallestBlock = 64 << 10;

struct PinnedBlocks {
  const Device* device;
  char* memory;
  uint64_t block_bytes;
  EventHandle events[kPinnedBlocks];
  PinnedBlocks* next;
};

// Blocks for an upload of `nbytes`, which no other upload uses until they are put back. NULL with the reason in
// `result`.
PinnedBlocks* TakePinned(const Device* device, uint64_t nbytes, Result* result);

void PutPinnedBack(PinnedBlocks* pinned);

// Waits for the copies out of the blocks and frees them.
void FreePinned(PinnedBlocks* pinned);

// Frees the blocks that no upload uses. Without `may_wait`, blocks that the device still reads stay. Returns whether
// some stayed.
bool FreeIdlePinned(bool may_wait);

}  // namespace dlpack::cuda
