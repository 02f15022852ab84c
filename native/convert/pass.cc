// A pass is cut into units. A unit is one position on the outer axes, a strip of the source's innermost axis (if it
// differs from the target's), and a stretch of the target's innermost axis. Each thread has a share of consecutive
// units. When it finishes its share, it helps with the shares of other threads.
#include "pass.h"

#include <stdlib.h>
#include <string.h>

#include <atomic>

#include "../lock.h"
#include "../platform/platform.h"
#include "kernel.h"
#include "strided.h"
#include "threads.h"

namespace dlpack {

// Elements that one stage passes to the next. A few such blocks fit into the first-level cache.
static const size_t kBlock = 1024;
// The most elements of a pass that is not divided.
static const int64_t kSmall = 64;
// Elements of a unit along the innermost axis. A multiple of eight, so that units of packed types end on byte
// boundaries.
static const int64_t kStretch = 16384;
// Rows and columns of a tile: long enough to use whole cache lines on both sides.
static const int64_t kTile = 64;
static const int64_t kTileBytes = 32768;
// A cache line; streamed stores write whole lines.
static const int64_t kLine = 64;
// The smallest pass, in bytes, that uses several threads, and the bytes for each thread.
static const int64_t kLarge = 2 << 20;
static const int64_t kPerThread = 1 << 20;

// Scales and offsets from the first element of a row on. `is_each`: they change along the row.
struct Factors {
  const double* scale;
  const double* offset;
  bool is_each;
};

// Consecutive units. On its own cache line, so that a write by one thread does not slow other threads down.
struct alignas(64) Share {
  std::atomic<int64_t> next;
  int64_t end;
};

struct Job {
  const Pass* pass;
  const Rows* rows;
  Kernel kernel;
  int32_t last;    // the innermost axis of the target, -1 for a single element
  int32_t across;  // the axis along which the source is contiguous; -1 when that is `last`, or none
  int64_t length;  // of the innermost axis
  int64_t from_step;
  int64_t to_step;
  int64_t strips;  // of kTile elements
  int64_t stretches;
  int64_t units;
  bool from_is_dense;  // contiguous along the innermost axis
  bool to_is_dense;
  bool streams;
  int32_t threads;
  Share* shares;  // one for each thread
};

// Where a unit, or a block of it, starts in both memories, in bits.
struct Place {
  int64_t from;
  int64_t to;
};

bool CanRun(const Pass& pass) {
  Kernel kernel;
  return FindKernel(pass, BestRows(), &kernel);
}

static bool IsCopy(const Kernel& kernel, Row first) {
  return first == nullptr && kernel.second == nullptr && kernel.scale == nullptr;
}

// As Apply, for a pass with scales.
static void ApplyScaled(const Kernel& kernel, Row first, const uint8_t* in, uint8_t* out, size_t count,
                        const Factors& factors) {
  alignas(64) uint8_t given[kBlock * 8];
  alignas(64) uint8_t numbers[kBlock * 8];
  if (first != nullptr) {
    first(in, given, count);
    in = given;
  }
  if (kernel.widen != nullptr) {
    kernel.widen(in, numbers, count);
    in = numbers;
  }
  uint8_t* scaled = kernel.second == nullptr ? out : in == numbers ? given : numbers;
  kernel.scale(in, scaled, factors.scale, factors.offset, factors.is_each, count);
  if (kernel.second != nullptr) kernel.second(scaled, out, count);
}

// Converts contiguous elements into contiguous elements, at most kBlock of them.
static void Apply(const Kernel& kernel, Row first, const uint8_t* in, uint8_t* out, size_t count,
                  const Factors& factors) {
  alignas(64) uint8_t middle[kBlock * 8];
  if (kernel.scale != nullptr) return ApplyScaled(kernel, first, in, out, count, factors);
  if (first == nullptr && kernel.second == nullptr) {
    memcpy(out, in, count * kernel.to_size);
  } else if (first == nullptr) {
    kernel.second(in, out, count);
  } else if (kernel.second == nullptr) {
    first(in, out, count);
  } else {
    first(in, middle, count);
    kernel.second(middle, out, count);
  }
}

// Converts contiguous elements from `in` and stores them in the target.
static void Store(const Job& job, Row first, const uint8_t* in, int64_t to_bit, size_t count, const Factors& factors) {
  alignas(64) uint8_t buffer[kBlock * 16];
  const Pass& pass = *job.pass;
  uint8_t* to = pass.to + to_bit / 8;
  const bool is_copy = IsCopy(job.kernel, first);
  if (job.to_is_dense && !job.streams) return Apply(job.kernel, first, in, to, count, factors);
  if (!is_copy) Apply(job.kernel, first, in, buffer, count, factors);
  const uint8_t* elements = is_copy ? in : buffer;
  if (job.streams) return job.rows->stream(elements, to, count * job.kernel.to_size);
  Scatter(pass.to, to_bit, job.to_step, pass.to_bits, elements, count);
}

// The elements of the axes from `axis` on, one after another. Returns the end.
static uint8_t* GatherAll(const Pass& pass, int32_t axis, int64_t from_bit, uint8_t* out) {
  const int64_t length = pass.shape[axis];
  const int64_t step = pass.from_step[axis];
  if (axis == pass.ndim - 1) {
    Gather(pass.from, from_bit, step, pass.from_bits, out, static_cast<size_t>(length));
    return out + length * pass.from_bits / 8;
  }
  for (int64_t i = 0; i < length; ++i) out = GatherAll(pass, axis + 1, from_bit + i * step, out);
  return out;
}

// Runs a pass of few elements into memory without gaps; false for others. Dividing the pass into units would take
// longer than its elements.
static bool RunSmall(const Pass& pass, const Kernel& kernel) {
  int64_t count = 1;
  for (int32_t axis = pass.ndim - 1; axis >= 0; --axis) {
    if (pass.to_step[axis] != count * pass.to_bits) return false;
    count *= pass.shape[axis];
    if (count > kSmall) return false;
  }
  if (pass.ndim == 0 || pass.from_bits < 8 || pass.to_bits < 8) return false;
  const bool is_each = pass.scaled_axis == pass.ndim - 1 && pass.ndim == 1;
  if (pass.scaled_axis >= 0 && !is_each) return false;
  alignas(64) uint8_t buffer[kSmall * 16];
  GatherAll(pass, 0, pass.from_bit, buffer);
  Apply(kernel, kernel.first, buffer, pass.to + pass.to_bit / 8, static_cast<size_t>(count),
        Factors{pass.scale, pass.offset, is_each});
  return true;
}

static void Copy(const Job& job, Place at, int64_t count) {
  const uint8_t* from = job.pass->from + at.from / 8;
  uint8_t* to = job.pass->to + at.to / 8;
  const size_t bytes = static_cast<size_t>(count) * job.kernel.to_size;
  if (job.streams)
    job.rows->stream(from, to, bytes);
  else
    memcpy(to, from, bytes);
}

// A stretch of the innermost axis.
static void RunStretch(const Job& job, Place at, int64_t count, const Factors& factors) {
  alignas(64) uint8_t buffer[kBlock * 16];
  const Pass& pass = *job.pass;
  const Kernel& kernel = job.kernel;
  const bool is_packed = kernel.packed != nullptr && job.from_step == pass.from_bits && at.from % 8 == 0;
  const bool is_dense = job.from_is_dense && at.from % 8 == 0;
  if (IsCopy(kernel, kernel.first) && is_dense && job.to_is_dense) return Copy(job, at, count);
  const bool is_on_line = (reinterpret_cast<uintptr_t>(pass.to) + static_cast<uintptr_t>(at.to / 8)) % kLine == 0;
  const Row stream = !job.streams || !is_on_line ? nullptr : is_packed ? kernel.stream_packed : kernel.stream;
  for (int64_t i = 0; i < count; i += static_cast<int64_t>(kBlock)) {
    const int64_t left = count - i;
    const size_t block = left < static_cast<int64_t>(kBlock) ? static_cast<size_t>(left) : kBlock;
    const int64_t from_bit = at.from + i * job.from_step;
    const int64_t to_bit = at.to + i * job.to_step;
    const uint8_t* from = pass.from + from_bit / 8;
    const int64_t first = factors.is_each ? i : 0;
    const Factors here = {factors.scale + first, factors.offset + first, factors.is_each};
    if (!is_packed && !is_dense) {
      // With step 0 all elements are equal. The first block is the longest, so it is gathered only once.
      if (i == 0 || job.from_step != 0) Gather(pass.from, from_bit, job.from_step, pass.from_bits, buffer, block);
      Store(job, kernel.first, buffer, to_bit, block, here);
      continue;
    }
    if (stream != nullptr)
      stream(from, pass.to + to_bit / 8, block);
    else
      Store(job, is_packed ? kernel.packed : kernel.first, from, to_bit, block, here);
  }
}

static int Log2(size_t size) { return size == 1 ? 0 : size == 2 ? 1 : size == 4 ? 2 : size == 8 ? 3 : 4; }

// Runs a stretch of the innermost axis times a strip of the source's innermost axis. Transposes it tile by tile in a
// buffer that stays in the cache, so that both memories are accessed in whole cache lines, whatever their strides.
static void RunTiles(const Job& job, Place at, int64_t strip, int64_t count, const Factors& factors) {
  alignas(64) uint8_t buffer[kTileBytes];
  const Pass& pass = *job.pass;
  const int64_t size = static_cast<int64_t>(job.kernel.from_size);
  const int64_t width = kTileBytes / (size * strip) < static_cast<int64_t>(kBlock) ? kTileBytes / (size * strip)
                                                                                   : static_cast<int64_t>(kBlock);
  // Vector code transposes multiples of eight elements, and stores write multiples of a cache line.
  const int64_t step = width > kTile ? kTile : width;
  const Transpose transpose = job.rows->transpose[Log2(job.kernel.from_size)];
  for (int64_t j = 0; j < count; j += step) {
    const int64_t rows = count - j < step ? count - j : step;
    transpose(pass.from + (at.from + j * job.from_step) / 8, job.from_step / 8, buffer, static_cast<size_t>(rows),
              static_cast<size_t>(rows), static_cast<size_t>(strip));
    for (int64_t i = 0; i < strip; ++i) {
      const int64_t to = at.to + j * job.to_step + i * pass.to_step[job.across];
      const int64_t first = factors.is_each ? j : pass.scaled_axis == job.across ? i : 0;
      const Factors here = {factors.scale + first, factors.offset + first, factors.is_each};
      Store(job, job.kernel.first, buffer + i * rows * size, to, static_cast<size_t>(rows), here);
    }
  }
}

static void RunUnit(const Job& job, int64_t unit) {
  const Pass& pass = *job.pass;
  const int64_t stretch = unit % job.stretches * kStretch;
  int64_t rest = unit / job.stretches;
  const int64_t strip = rest % job.strips * kTile;
  rest /= job.strips;
  Place at = {pass.from_bit + stretch * job.from_step, pass.to_bit + stretch * job.to_step};
  const bool is_each = pass.scaled_axis >= 0 && pass.scaled_axis == job.last;
  int64_t position = is_each ? stretch : 0;  // on the scaled axis
  for (int32_t axis = job.last - 1; axis >= 0; --axis) {
    if (axis == job.across) continue;
    const int64_t index = rest % pass.shape[axis];
    rest /= pass.shape[axis];
    if (axis == pass.scaled_axis) position = index;
    at.from += index * pass.from_step[axis];
    at.to += index * pass.to_step[axis];
  }
  const int64_t count = job.length - stretch < kStretch ? job.length - stretch : kStretch;
  if (job.across >= 0 && job.across == pass.scaled_axis) position = strip;
  const Factors factors = {pass.scale + position, pass.offset + position, is_each};
  if (job.across < 0) return RunStretch(job, at, count, factors);
  at.from += strip * pass.from_step[job.across];
  at.to += strip * pass.to_step[job.across];
  const int64_t left = pass.shape[job.across] - strip;
  RunTiles(job, at, left < kTile ? left : kTile, count, factors);
}

// Any thread, several at a time.
static void RunShare(const Job& job, Share* share) {
  const int64_t grain = job.units / (int64_t{32} * job.threads) + 1;
  for (;;) {
    const int64_t start = share->next.fetch_add(grain, std::memory_order_relaxed);
    if (start >= share->end) return;
    const int64_t end = start + grain < share->end ? start + grain : share->end;
    for (int64_t unit = start; unit < end; ++unit) RunUnit(job, unit);
  }
}

// Any thread, several at a time. The same thread always begins with the same share, because its caches may hold that
// memory.
static void Work(void* data, int32_t thread) {
  const Job& job = *static_cast<Job*>(data);
  for (int32_t i = 0; i < job.threads; ++i) RunShare(job, &job.shares[(thread + i) % job.threads]);
#if defined(__x86_64__)
  // Streamed stores are not ordered with other stores, so they must become visible before other threads learn of the
  // end.
  if (job.streams) __asm__ volatile("sfence" ::: "memory");
#endif
}

// The axis along which the source is contiguous, if it is not the innermost axis of the target.
static int32_t FindAcross(const Pass& pass, int32_t last) {
  if (last < 1 || pass.from_bits < 8 || pass.from_step[last] == pass.from_bits || pass.from_step[last] == 0) return -1;
  for (int32_t axis = last - 1; axis >= 0; --axis) {
    if (pass.from_step[axis] == pass.from_bits && pass.shape[axis] >= 4) return axis;
  }
  return -1;
}

// Threads may share a target only if no two units write to the same byte.
static bool IsDivisible(const Pass& pass, const Job& job) {
  if (pass.to_bits >= 8) return true;
  if (pass.to_bit % 8 != 0 || job.across >= 0 || job.to_step != pass.to_bits) return false;
  for (int32_t axis = 0; axis < job.last; ++axis) {
    if (pass.to_step[axis] % 8 != 0) return false;
  }
  return true;
}

// The size of source and target together above which the caches will not hold them until their next use. Other
// processes use the last-level cache too, so only a part of it counts. DLPACK_CACHE_BYTES overrides it.
static int64_t FindCacheBytes() {
  const char* asked = getenv("DLPACK_CACHE_BYTES");
  if (asked != nullptr) return strtoll(asked, nullptr, 10);
  const int64_t most = 32 << 20;
  const int64_t least = 8 << 20;
  const int64_t cache = platform::LastCacheBytes();
  if (cache == 0) return (most + least) / 4;
  const int64_t share = cache / 8 * 3;
  return share > most ? most : share < least ? least : share;
}

void RunPass(const Pass& pass) {
  Job job;
  job.rows = &BestRows();
  if (!FindKernel(pass, *job.rows, &job.kernel)) return;
  job.pass = &pass;
  job.last = pass.ndim - 1;
  job.length = job.last < 0 ? 1 : pass.shape[job.last];
  job.from_step = job.last < 0 ? pass.from_bits : pass.from_step[job.last];
  job.to_step = job.last < 0 ? pass.to_bits : pass.to_step[job.last];
  job.from_is_dense = job.from_step == static_cast<int64_t>(job.kernel.from_size) * 8;
  job.to_is_dense = pass.to_bits >= 8 && job.to_step == pass.to_bits;
  if (pass.ndim <= 1 && job.length <= static_cast<int64_t>(kBlock) && job.from_is_dense && job.to_is_dense &&
      pass.from_bit % 8 == 0) {
    return Apply(job.kernel, job.kernel.first, pass.from + pass.from_bit / 8, pass.to + pass.to_bit / 8,
                 static_cast<size_t>(job.length), Factors{pass.scale, pass.offset, pass.scaled_axis >= 0});
  }
  if (RunSmall(pass, job.kernel)) return;
  job.across = FindAcross(pass, job.last);
  job.strips = job.across < 0 ? 1 : (pass.shape[job.across] + kTile - 1) / kTile;
  job.stretches = (job.length + kStretch - 1) / kStretch;
  job.units = job.strips * job.stretches;
  int64_t count = job.length;
  for (int32_t axis = 0; axis < job.last; ++axis) {
    count *= pass.shape[axis];
    if (axis != job.across) job.units *= pass.shape[axis];
  }
  const int64_t bytes = count * static_cast<int64_t>(job.kernel.to_size);
  const int64_t read = count * pass.from_bits / 8;
  // Streaming avoids reading the target first. This matters when more is written than read, or when a single row does
  // the whole cast. The system has to fill fresh memory with zeros first, and then the caches hold it. A fill reads one
  // element: streamed stores took 1.5 to 4 times as long as plain stores up to 256 MiB, and as long for 1 GiB.
  const int64_t cache_bytes = ComputeOnce<int64_t, FindCacheBytes>();  // the query takes as long as a small copy
  const bool is_fill = job.from_step == 0 && job.length > 1;
  const bool is_worth_it = !is_fill && (bytes >= read || job.kernel.stream != nullptr);
  job.streams = job.to_is_dense && is_worth_it && bytes + read >= cache_bytes &&
                job.length * static_cast<int64_t>(job.kernel.to_size) >= kLine &&
                !platform::IsFresh(pass.to + pass.to_bit / 8, bytes);
  int64_t threads = bytes < kLarge || !IsDivisible(pass, job) ? 1 : bytes / kPerThread;
  if (threads > pass.threads) threads = pass.threads;
  job.threads = static_cast<int32_t>(threads < 1 ? 1 : threads > kMaxThreads ? kMaxThreads : threads);
  Share shares[kMaxThreads];
  job.shares = shares;
  for (int32_t i = 0; i < job.threads; ++i) {
    shares[i].next.store(job.units / job.threads * i, std::memory_order_relaxed);
    shares[i].end = i + 1 == job.threads ? job.units : job.units / job.threads * (i + 1);
  }
  RunOnThreads(job.threads, Work, &job);
}

}  // namespace dlpack
