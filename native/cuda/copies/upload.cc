// Uploads plain host memory, such as a mapped file, through pinned blocks. Several threads fill them, and each thread
// fills one block while the device reads its other block. JavaScript thread, except Run and what it calls, which may
// also run on a thread of the runtime's pool.
#include <stdlib.h>
#include <string.h>

#include <atomic>

#include "../../convert/threads.h"
#include "../context.h"
#include "../streams/uses.h"
#include "pinned_blocks.h"

namespace dlpack::cuda {

namespace {

// Bytes of the source that go to one place on the device.
struct UploadPart {
  uint64_t offset;  // from the start of the source
  uint64_t nbytes;
  char* target;
  Storage* storage;  // of the target
};

// Keeps the source and the targets of its parts.
struct Upload {
  StreamRef stream;
  Storage* source;
  const char* data;  // in the source
  uint64_t nbytes;
  int32_t threads;  // how many may fill blocks
  AsyncWork work;
  Result result;
  size_t part_count;
  UploadPart parts[];  // ordered by their offsets, without overlaps, inside the source

  void Run();
  napi_value ResultOf(napi_env env, napi_status) { return NewNumber(env, result); }
  void Free() {
    for (size_t i = 0; i < part_count; ++i) ReleaseStorage(parts[i].storage);
    if (source != nullptr) ReleaseStorage(source);
    free(this);
  }
};

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
  const Upload* upload;
  PinnedBlocks* pinned;  // has blocks for `threads` threads or more
  uint32_t threads;
  uint32_t first_turns;  // in which a thread fills a part of a block
  std::atomic<uint64_t> next_byte;
  std::atomic<uint32_t> next_thread;
  std::atomic<Result> result;  // the first failure
};

// The first part that ends after `byte`.
size_t FindPart(const Upload& upload, uint64_t byte) {
  size_t low = 0;
  size_t high = upload.part_count;
  while (low < high) {
    const size_t middle = (low + high) / 2;
    const UploadPart& part = upload.parts[middle];
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
Result QueueParts(const Upload& upload, uint64_t start, uint64_t end, const char* block, StreamHandle stream) {
  Address targets[kBatch], sources[kBatch];
  size_t bytes[kBatch];
  size_t count = 0;
  for (size_t i = FindPart(upload, start); i < upload.part_count && upload.parts[i].offset < end; ++i) {
    const UploadPart& part = upload.parts[i];
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
  const uint64_t nbytes = job->upload->nbytes;
  const uint64_t last_blocks = block_bytes * job->threads;
  uint64_t from = job->next_byte.load(std::memory_order_relaxed);
  uint64_t length;
  do {
    if (from >= nbytes) return 0;
    const bool is_end = from + last_blocks >= nbytes && waiting[job->upload->stream.device->id].load() == 0;
    length = turn < job->first_turns || is_end ? block_bytes / 4 : block_bytes - from % block_bytes;
    if (length > nbytes - from) length = nbytes - from;
  } while (!job->next_byte.compare_exchange_weak(from, from + length, std::memory_order_relaxed));
  *start = from;
  return length;
}

// Any thread, several at a time.
void Work(void* data, int32_t) {
  Job* job = static_cast<Job*>(data);
  const Upload& upload = *job->upload;
  const uint32_t thread = job->next_thread.fetch_add(1, std::memory_order_relaxed);
  if (thread >= job->threads) return;
  RelaxedContextScope scope(upload.stream.device);
  Result result = scope.result();
  for (uint32_t turn = 0; result == kSuccess && job->result.load(std::memory_order_relaxed) == kSuccess; ++turn) {
    uint64_t start = 0;
    const uint64_t length = Claim(job, turn, &start);
    if (length == 0) return;
    const uint32_t block = thread * kBlocksOfThread + turn % kBlocksOfThread;
    const EventHandle event = job->pinned->events[block];
    char* memory = PlaceInBlock(job->pinned, block, upload.data + start);
    // The device may still read the block: for this upload, or for the last one.
    result = driver.EventSynchronize(event);
    if (result != kSuccess) break;
    memcpy(memory, upload.data + start, static_cast<size_t>(length));
    result = QueueParts(upload, start, start + length, memory, job->pinned->stream);
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

Result FillBlocks(const Upload& upload, PinnedBlocks* pinned, uint32_t threads) {
  Job job = {&upload, pinned, threads, IsBusIdle(pinned) ? kFirstTurns : 0, {0}, {0}, {kSuccess}};
  Result result = Order(pinned, pinned->stream, upload.stream.handle);
  if (result != kSuccess) return result;
  RunOnThreads(static_cast<int32_t>(threads), Work, &job);
  result = job.result.load();
  return result == kSuccess ? Order(pinned, upload.stream.handle, pinned->stream) : result;
}

// Queues the copies of all parts behind the work that the stream has now, and makes the stream wait for them. Returns
// when the source has been read. After a failure no copy is left that uses the pinned memory. On a thread of the
// runtime's pool, or on the JavaScript thread, which waits.
void Upload::Run() {
  const Device* device = stream.device;
  std::atomic<int32_t>* waits = &waiting[device->id];
  waits->fetch_add(1);
  // An upload that waits here starts without a pause when the one before it has read its source.
  platform::MutexScope turn(&turns[device->id]);
  waits->fetch_sub(1);
  const uint32_t asked = threads < 1 ? 1 : static_cast<uint32_t>(threads);
  const uint32_t most = asked < kUploadThreads ? asked : kUploadThreads;
  PinnedBlocks* pinned = TakePinned(device, nbytes, most, &result);
  if (pinned == nullptr) return;
  result = FillBlocks(*this, pinned, most);
  if (result == kSuccess) return PutPinnedBack(pinned);
  {
    // Some copies may have no event behind them.
    RelaxedContextScope scope(device);
    driver.StreamSynchronize(pinned->stream);
  }
  FreePinned(pinned);
}

// A row of the argument of upload(): numbers that describe an UploadPart.
enum Column { kOffset, kNbytes, kTarget, kTargetOffset, kColumns };

bool IsRange(double offset, double nbytes, uint64_t room) {
  return IsSize(offset) && IsSize(nbytes) && static_cast<uint64_t>(offset) <= room &&
         static_cast<uint64_t>(nbytes) <= room - static_cast<uint64_t>(offset);
}

// Reads one row and takes a reference to its target. False when the row does not fit the memory or the row before it.
bool ReadPart(const CudaContext* self, const double* row, Upload* upload) {
  if (!IsRange(row[kOffset], row[kNbytes], upload->nbytes) || !(row[kTarget] >= 0 && row[kTarget] <= UINT32_MAX))
    return false;
  Storage* target = GetHeld(self->instance, static_cast<uint32_t>(row[kTarget]));
  if (target == nullptr || !IsRange(row[kTargetOffset], row[kNbytes], target->nbytes)) return false;
  const size_t i = upload->part_count;
  UploadPart part = {static_cast<uint64_t>(row[kOffset]), static_cast<uint64_t>(row[kNbytes]),
                     static_cast<char*>(target->data) + static_cast<uint64_t>(row[kTargetOffset]), target};
  if (i > 0 && part.offset < upload->parts[i - 1].offset + upload->parts[i - 1].nbytes) return false;
  RetainStorage(target);
  upload->parts[i] = part;
  ++upload->part_count;
  return true;
}

bool ReadParts(const CudaContext* self, const Elements<double>& rows, Upload* upload) {
  for (size_t i = 0; i < rows.length / kColumns; ++i) {
    if (!ReadPart(self, rows.data + i * kColumns, upload)) return false;
  }
  return true;
}

}  // namespace

// An upload of bytes of a storage in plain host memory, whose targets are in use on the stream from now on, although
// the copies are queued later; NULL with the reason in `result`.
static Upload* MakeUpload(CudaContext* self, const StreamRef& stream, uint32_t from, double offset, double nbytes,
                          int32_t threads, const Elements<double>& rows, Result* result) {
  Storage* source = GetHeld(self->instance, from);
  *result = kInvalidValue;
  if (rows.length < kColumns || source == nullptr || !IsRange(offset, nbytes, source->nbytes)) return nullptr;
  Upload* upload = static_cast<Upload*>(calloc(1, sizeof(Upload) + rows.length / kColumns * sizeof(UploadPart)));
  if (upload == nullptr) {
    *result = kOutOfDeviceMemory;
    return nullptr;
  }
  upload->stream = stream;
  upload->result = kNotReady;
  RetainStorage(upload->source = source);
  upload->data = static_cast<const char*>(source->data) + static_cast<uint64_t>(offset);
  upload->nbytes = static_cast<uint64_t>(nbytes);
  upload->threads = threads;
  if (ReadParts(self, rows, upload)) *result = kSuccess;
  for (size_t i = 0; i < upload->part_count && *result == kSuccess; ++i) {
    *result = BeginUse(upload->parts[i].storage, stream);
  }
  if (*result == kSuccess) return upload;
  upload->Free();
  return nullptr;
}

// upload(device, stream, source, offset, nbytes, threads, rows): a promise of the CUresult when the source has been
// read and all copies are queued, or the CUresult if the upload did not start. All storages are kept until then.
static napi_value UploadBinding(CudaContext* self, napi_env env, Device* device, StreamHandle handle, uint32_t from,
                                double offset, double nbytes, int32_t threads, Elements<double> rows) {
  // On a thread of the pool the per-thread handle would mean that thread's stream.
  const StreamRef stream = {device, Normalize(handle) == kPerThreadStream ? kLegacyStream : Normalize(handle)};
  Result result;
  Upload* upload = MakeUpload(self, stream, from, offset, nbytes, threads, rows, &result);
  return upload == nullptr ? NewNumber(env, result) : QueueJob(env, upload, kSuccess);
}

// uploadNow, with the arguments of upload: returns the CUresult when the source has been read and all copies are
// queued.
static napi_value UploadNowBinding(CudaContext* self, napi_env env, Device* device, StreamHandle handle, uint32_t from,
                                   double offset, double nbytes, int32_t threads, Elements<double> rows) {
  Result result;
  Upload* upload = MakeUpload(self, {device, Normalize(handle)}, from, offset, nbytes, threads, rows, &result);
  if (upload == nullptr) return NewNumber(env, result);
  upload->Run();
  result = upload->result;
  upload->Free();
  return NewNumber(env, result);
}

// releasePinned(mayWait): frees the pinned memory that no upload uses. Without `mayWait`, memory that the device still
// reads stays, and the result is true.
static bool ReleasePinnedBinding(CudaContext*, napi_env, bool may_wait) { return FreeIdlePinned(may_wait); }

const NamedFunction kUploadFunctions[] = {{"upload", DeviceBinding<UploadBinding>::Call},
                                          {"uploadNow", DeviceBinding<UploadNowBinding>::Call},
                                          {"releasePinned", Binding<ReleasePinnedBinding>::Call},
                                          {}};

}  // namespace dlpack::cuda
