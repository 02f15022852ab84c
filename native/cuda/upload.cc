#include "upload.h"

#include <string.h>

#include <atomic>

#include "../convert/threads.h"
#include "../platform/platform.h"
#include "pinned_blocks.h"

namespace dlpack::cuda {

namespace {

// One upload at a time fills blocks for a device, because all threads together fill them as fast as the bus takes them.
platform::Mutex turns[kMaxDevices];
// The uploads that wait for their turn.
std::atomic<int32_t> waiting[kMaxDevices];

// Copies in one batch.
const size_t kBatch = 64;
// A copy of more bytes is a batch of two.
const size_t kLargeCopy = 1 << 20;
// Parts of blocks that each thread fills before whole blocks, when the bus is idle.
const uint32_t kFirstTurns = 4;

struct Job {
  const UploadRequest* request;
  PinnedBlocks* pinned;  // has blocks for `threads` threads or more
  uint32_t threads;
  uint32_t first_turns;  // in which a thread fills a part of a block
  std::atomic<uint64_t> next_byte;
  std::atomic<uint32_t> next_thread;
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

// Queues copies of pinned memory. Between two copies the bus is idle for two microseconds, but not inside a batch.
// Older drivers have no batches, and other drivers may refuse a batch. The arrays have room for two copies at least.
Result QueueCopies(Address* targets, Address* sources, size_t* bytes, size_t count, StreamHandle stream) {
  const bool has_batches = driver.MemcpyBatchAsync != nullptr;
  if (has_batches && count == 1 && bytes[0] > kLargeCopy) {
    const size_t half = bytes[0] / 2;
    targets[1] = targets[0] + half;
    sources[1] = sources[0] + half;
    bytes[1] = bytes[0] - half;
    bytes[0] = half;
    count = 2;
  }
  if (has_batches && count > 1) {
    BatchAttributes attributes = {1, 0, 0, 0, 0, 0};
    size_t start = 0;
    if (driver.MemcpyBatchAsync(targets, sources, bytes, count, &attributes, &start, 1, stream) == kSuccess) {
      return kSuccess;
    }
  }
  for (size_t i = 0; i < count; ++i) {
    const Result result = driver.MemcpyAsync(targets[i], sources[i], bytes[i], stream);
    if (result != kSuccess) return result;
  }
  return kSuccess;
}

// Queues the copies of the source's bytes from `start` to `end`, which a block holds.
Result QueueParts(const UploadRequest& request, uint64_t start, uint64_t end, const char* block, StreamHandle stream) {
  Address targets[kBatch], sources[kBatch];
  size_t bytes[kBatch];
  size_t count = 0;
  for (size_t i = FindPart(request, start); i < request.part_count && request.parts[i].offset < end; ++i) {
    const UploadPart& part = request.parts[i];
    const uint64_t low = part.offset > start ? part.offset : start;
    const uint64_t high = part.offset + part.nbytes < end ? part.offset + part.nbytes : end;
    if (high <= low) continue;
    if (count == kBatch) {
      const Result result = QueueCopies(targets, sources, bytes, count, stream);
      if (result != kSuccess) return result;
      count = 0;
    }
    targets[count] = reinterpret_cast<Address>(part.target + (low - part.offset));
    sources[count] = reinterpret_cast<Address>(block + (low - start));
    bytes[count++] = static_cast<size_t>(high - low);
  }
  return QueueCopies(targets, sources, bytes, count, stream);
}

// Claims the next bytes of the source. At the start and at the end it is a part of a block, so that the first copies
// start early and all threads finish at about the same time. While the copies of the last upload keep the bus busy, the
// start has whole blocks, and the end has if another upload waits for its turn. All others are whole blocks, counted
// from the start, because each tensor that begins or ends inside a block costs a copy.
uint64_t Claim(Job* job, uint32_t turn, uint64_t* start) {
  const uint64_t block_bytes = job->pinned->block_bytes;
  const uint64_t nbytes = job->request->nbytes;
  const uint64_t last_blocks = block_bytes * job->threads;
  uint64_t from = job->next_byte.load(std::memory_order_relaxed);
  uint64_t length;
  do {
    if (from >= nbytes) return 0;
    const bool is_end = from + last_blocks >= nbytes && waiting[job->request->device->id].load() == 0;
    length = turn < job->first_turns || is_end ? block_bytes / 4 : block_bytes - from % block_bytes;
    if (length > nbytes - from) length = nbytes - from;
  } while (!job->next_byte.compare_exchange_weak(from, from + length, std::memory_order_relaxed));
  *start = from;
  return length;
}

// Any thread, several at a time.
void Work(void* data, int32_t) {
  Job* job = static_cast<Job*>(data);
  const UploadRequest& request = *job->request;
  const uint32_t thread = job->next_thread.fetch_add(1, std::memory_order_relaxed);
  if (thread >= job->threads) return;
  RelaxedContextScope scope(request.device);
  Result result = scope.result();
  for (uint32_t turn = 0; result == kSuccess && job->result.load(std::memory_order_relaxed) == kSuccess; ++turn) {
    uint64_t start = 0;
    const uint64_t length = Claim(job, turn, &start);
    if (length == 0) return;
    const uint32_t block = thread * kBlocksOfThread + turn % kBlocksOfThread;
    const EventHandle event = job->pinned->events[block];
    char* memory = PlaceInBlock(job->pinned, block, request.source + start);
    // The device may still read the block: for this upload, or for the last one.
    result = driver.EventSynchronize(event);
    if (result != kSuccess) break;
    memcpy(memory, request.source + start, static_cast<size_t>(length));
    result = QueueParts(request, start, start + length, memory, job->pinned->stream);
    if (result == kSuccess) result = driver.EventRecord(event, job->pinned->stream);
  }
  if (result == kSuccess) return;
  Result expected = kSuccess;
  job->result.compare_exchange_strong(expected, result);
}

// Work that is queued on `later` from now on starts after the work that `earlier` has now.
Result Order(const PinnedBlocks* pinned, StreamHandle later, StreamHandle earlier) {
  RelaxedContextScope scope(pinned->device);
  Result result = scope.result();
  if (result == kSuccess) result = driver.EventRecord(pinned->border, earlier);
  return result == kSuccess ? driver.StreamWaitEvent(later, pinned->border, 0) : result;
}

// Whether all copies of the last upload have ended.
bool IsBusIdle(const PinnedBlocks* pinned) {
  RelaxedContextScope scope(pinned->device);
  return driver.EventQuery(pinned->border) != kNotReady;
}

Result FillBlocks(const UploadRequest& request, PinnedBlocks* pinned, uint32_t threads) {
  Job job = {&request, pinned, threads, IsBusIdle(pinned) ? kFirstTurns : 0, {0}, {0}, {kSuccess}};
  Result result = Order(pinned, pinned->stream, request.stream);
  if (result != kSuccess) return result;
  RunOnThreads(static_cast<int32_t>(threads), Work, &job);
  result = job.result.load();
  return result == kSuccess ? Order(pinned, request.stream, pinned->stream) : result;
}

}  // namespace

Result Upload(const UploadRequest& request) {
  std::atomic<int32_t>* waits = &waiting[request.device->id];
  waits->fetch_add(1);
  // An upload that waits here starts without a pause when the one before it has read its source.
  platform::MutexScope turn(&turns[request.device->id]);
  waits->fetch_sub(1);
  Result result;
  const uint32_t asked = request.threads < 1 ? 1 : static_cast<uint32_t>(request.threads);
  const uint32_t threads = asked < kUploadThreads ? asked : kUploadThreads;
  PinnedBlocks* pinned = TakePinned(request.device, request.nbytes, threads, &result);
  if (pinned == nullptr) return result;
  result = FillBlocks(request, pinned, threads);
  if (result == kSuccess) {
    PutPinnedBack(pinned);
    return kSuccess;
  }
  {
    // Some copies may have no event behind them.
    RelaxedContextScope scope(request.device);
    driver.StreamSynchronize(pinned->stream);
  }
  FreePinned(pinned);
  return result;
}

}  // namespace dlpack::cuda
