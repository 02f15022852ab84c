// Pinned memory for uploads, in blocks, with a stream for the copies and an event behind the last copy out of each
// block. It is kept after an upload, because pinning a MiB takes half a millisecond, and because the next upload need
// not wait for the copies of the last one. Any thread.
#pragma once

#include "../devices.h"

namespace dlpack::cuda {

// Each thread fills one block while the device reads its other block. Measured on an H200 with 16 cores: blocks of 2 or
// 8 MiB are slower, and so are fewer threads when other programs use the processors.
static const uint32_t kBlocksOfThread = 2;
static const uint32_t kUploadThreads = 12;
static const uint64_t kLargestBlock = 4 << 20;
static const uint64_t kSmallestBlock = 64 << 10;

struct PinnedBlocks {
  const Device* device;
  char* memory;
  uint64_t block_bytes;
  uint32_t threads;  // that have blocks
  EventHandle events[kUploadThreads * kBlocksOfThread];
  StreamHandle stream;  // not ordered with other streams, because the driver takes no batch on the legacy stream
  EventHandle border;   // orders it with the stream of an upload
  PinnedBlocks* next;
};

// Where the bytes at `source` go in a block. They keep their place in a page, because a processor copies faster then.
char* PlaceInBlock(const PinnedBlocks* pinned, uint32_t block, const char* source);

// Blocks for an upload of `nbytes` by so many threads, which no other upload uses until they are put back. NULL with
// the reason in `result`.
PinnedBlocks* TakePinned(const Device* device, uint64_t nbytes, uint32_t threads, Result* result);

void PutPinnedBack(PinnedBlocks* pinned);

// Waits for the copies out of the blocks and frees them.
void FreePinned(PinnedBlocks* pinned);

// Frees the blocks that no upload uses. Without `may_wait`, blocks that the device still reads stay. Returns whether
// some stayed.
bool FreeIdlePinned(bool may_wait);

}  // namespace dlpack::cuda
