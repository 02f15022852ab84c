#include "upload.h"

#include <string.h>

#include <atomic>

#include "../convert/threads.h"
#include "../platform/platform.h"
#include "pinned_blocks.h"

namespace dlpack::cuda {

namespace {

// Each thread fills one block while the device reads the other.
const uint32_t kBlocksOfThread = 2;

// One upload at a time fills blocks for a device, because all threads together fill them as fast as the bus takes them.
platform::Mutex turns[kMaxDevices];

struct Job {
  const UploadRequest* request;
  PinnedBlocks* pinned;
  std::atomic<uint64_t> next_byte;
  std::atomic<uint32_t> next_block;
  std::atomic<Result> result;  // the first failure
};

// The first part that ends after `byte`.
size_t FindPart(const UploadRequest& request, uint64_t byte) {
  size_t low = 0;
  size_t high = request.part_count;
  while (low < high) {
    const size_t middle = (low + high) / 2;
    const UploadPart& part = request.parts[middle];
    if (part.offset + part.nbytes <= byte) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

// Queues the copies of the source's bytes from `start` to `end`, which a block holds.
Result QueueParts(const UploadRequest& request, uint64_t start, uint64_t end, const char* block) {
  for (size_t i = FindPart(request, start); i < request.part_count && request.parts[i].offset < end; ++i) {
    const UploadPart& part = request.parts[i];
    const uint64_t low = part.offset > start ? part.offset : start;
    const uint64_t high = part.offset + part.nbytes < end ? part.offset + part.nbytes : end;
    if (high <= low) continue;
    const Result result = driver.MemcpyAsync(reinterpret_cast<Address>(part.target + (low - part.offset)),
                                             reinterpret_cast<Address>(block + (low - start)),
                                             static_cast<size_t>(high - low), request.stream);
    if (result != kSuccess) return result;
  }
  return kSuccess;
}

// Claims the next bytes of the source. At the start and at the end it is a part of a block, so that the first copy
// starts early and all threads finish at about the same time. All others are whole blocks, counted from the start,
// because each tensor that begins or ends inside a block costs a copy.
uint64_t Claim(Job* job, uint32_t turn, uint64_t* start) {
  const uint64_t block_bytes = job->pinned->block_bytes;
  const uint64_t nbytes = job->request->nbytes;
  const uint64_t last_blocks = block_bytes * kPinnedBlocks / kBlocksOfThread;
  uint64_t from = job->next_byte.load(std::memory_order_relaxed);
  uint64_t length;
  do {
    if (from >= nbytes) return 0;
    length = turn == 0 || from + last_blocks >= nbytes ? block_bytes / 4 : block_bytes - from % block_bytes;
    if (length > nbytes - from) length = nbytes - from;
  } while (!job->next_byte.compare_exchange_weak(from, from + length, std::memory_order_relaxed));
  *start = from;
  return length;
}

// Any thread, several at a time.
void Work(void* data, int32_t) {
  Job* job = static_cast<Job*>(data);
  const UploadRequest& request = *job->request;
  const uint64_t block_bytes = job->pinned->block_bytes;
  const uint32_t first = job->next_block.fetch_add(kBlocksOfThread, std::memory_order_relaxed);
  if (first + kBlocksOfThread > kPinnedBlocks) return;  // more threads than blocks
  ContextScope scope(request.device);
  RelaxedScope relaxed;
  Result result = scope.result();
  for (uint32_t turn = 0; result == kSuccess && job->result.load(std::memory_order_relaxed) == kSuccess; ++turn) {
    uint64_t start = 0;
    const uint64_t length = Claim(job, turn, &start);
    if (length == 0) return;
    const uint32_t block = first + turn % kBlocksOfThread;
    const EventHandle event = job->pinned->events[block];
    char* memory = job->pinned->memory + block * block_bytes;
    // The device may still read the block: for this upload, or for the last one.
    result = driver.EventSynchronize(event);
    if (result != kSuccess) break;
    memcpy(memory, request.source + start, static_cast<size_t>(length));
    result = QueueParts(request, start, start + length, memory);
    if (result == kSuccess) result = driver.EventRecord(event, request.stream);
  }
  if (result == kSuccess) return;
  Result expected = kSuccess;
  job->result.compare_exchange_strong(expected, result);
}

}  // namespace

Result Upload(const UploadRequest& request) {
  // An upload that waits here starts without a pause when the one before it has read its source.
  platform::MutexScope turn(&turns[request.device->id]);
  Result result;
  PinnedBlocks* pinned = TakePinned(request.device, request.nbytes, &result);
  if (pinned == nullptr) return result;
  Job job = {&request, pinned, {0}, {0}, {kSuccess}};
  const int32_t most = kPinnedBlocks / kBlocksOfThread;
  RunOnThreads(request.threads < most ? request.threads : most, Work, &job);
  result = job.result.load();
  if (result == kSuccess) {
    PutPinnedBack(pinned);
    return kSuccess;
  }
  {
    // Some copies may have no event behind them.
    ContextScope scope(request.device);
    RelaxedScope relaxed;
    driver.StreamSynchronize(request.stream);
  }
  FreePinned(pinned);
  return result;
}

}  // namespace dlpack::cuda
