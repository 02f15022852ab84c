// Copies and fills. Pageable host memory is read at the call and written before the call returns, because the driver
// stages it. Everything else happens when the stream runs.
#include <string.h>

#include <algorithm>

#include "state.h"

using namespace fake;
using namespace dlpack::cuda;

namespace {

enum class Place { kDevice, kPinned, kPageable };

struct Row {
  Address to;
  Address from;
  size_t bytes;
};

constexpr size_t kMaxPitch = 2147483647;
constexpr size_t kRowsToTrack = 4096;

Result PlaceOf(const char* symbol, Address first, Address last, Place* place) {
  const Allocation* found = Find(first);
  if (found != nullptr && !found->freed) {
    *place = found->kind == Kind::kPinned ? Place::kPinned : Place::kDevice;
    if (last - found->start <= found->bytes) return kSuccess;
    Report("error: %s of bytes up to %zu of %zu", symbol, static_cast<size_t>(last - found->start), found->bytes);
    return kInvalidValue;
  }
  if (found != nullptr || InDeviceSpace(first)) {
    Report("violation: %s of %s memory", symbol, found != nullptr ? "freed" : "unknown");
    return kInvalidValue;
  }
  *place = Place::kPageable;
  return first == 0 ? kInvalidValue : kSuccess;
}

std::vector<Touch> TouchesOf(const std::vector<Row>& rows, Place to, Place from) {
  std::vector<Touch> touches;
  const Row& first = rows.front();
  const Row& last = rows.back();
  if (rows.size() > kRowsToTrack) {
    if (from != Place::kPageable) touches.push_back({first.from, last.from + last.bytes - first.from, false});
    if (to != Place::kPageable) touches.push_back({first.to, last.to + last.bytes - first.to, true});
    return touches;
  }
  for (const Row& row : rows) {
    if (from != Place::kPageable) touches.push_back({row.from, row.bytes, false});
    if (to != Place::kPageable) touches.push_back({row.to, row.bytes, true});
  }
  return touches;
}

// Rows in the order of their addresses.
Result Copy(Lock& lock, const char* symbol, const std::vector<Row>& rows, StreamHandle handle) {
  Result code;
  Stream* stream = FindStream(handle, &code);
  if (stream == nullptr) return code;
  Place to, from;
  code = PlaceOf(symbol, rows.front().to, rows.back().to + rows.back().bytes, &to);
  if (code != kSuccess) return code;
  code = PlaceOf(symbol, rows.front().from, rows.back().from + rows.back().bytes, &from);
  if (code != kSuccess) return code;
  code = Accepts(stream);
  if (code != kSuccess) return code;
  if (stream->capture != nullptr) {
    Enqueue(stream, "a copy", {}, nullptr);
    return kSuccess;
  }
  const bool between_hosts = to != Place::kDevice && from != Place::kDevice;
  const bool waits = to == Place::kPageable || between_hosts;
  std::shared_ptr<std::vector<char>> staged;
  if (from == Place::kPageable && !waits) {
    staged = std::make_shared<std::vector<char>>();
    for (const Row& row : rows) {
      const char* source = reinterpret_cast<const char*>(row.from);
      staged->insert(staged->end(), source, source + row.bytes);
    }
  }
  const auto effect = [rows, staged] {
    size_t offset = 0;
    std::vector<char> bytes;
    for (const Row& row : rows) {
      const char* source;
      if (staged != nullptr) {
        source = staged->data() + offset;
      } else {
        bytes.resize(row.bytes);
        Read("a copy", row.from, row.bytes, bytes.data());
        source = bytes.data();
      }
      Write("a copy", row.to, row.bytes, source);
      offset += row.bytes;
    }
  };
  const OperationRef copy = Enqueue(stream, "a copy", TouchesOf(rows, to, from), effect);
  if (!waits) return kSuccess;
  code = Await(lock, copy, symbol);
  // The caller's memory may be freed after the call.
  if (code != kSuccess) copy->effect = nullptr;
  return code;
}

bool Base(MemoryType type, const void* host, Address device, Address* base) {
  *base = type == kMemoryHost ? reinterpret_cast<Address>(host) : device;
  return type == kMemoryHost || type == kMemoryDevice || type == kMemoryUnified;
}

}  // namespace

FAKE_EXPORT(MemcpyAsync, cuMemcpyAsync)(Address target, Address source, size_t bytes, StreamHandle stream) {
  ENTER("cuMemcpyAsync");
  if (bytes == 0) return kSuccess;
  return Copy(call.lock, "cuMemcpyAsync", {{target, source, bytes}}, stream);
}

// One operation for each copy. As the real driver, it takes no copies on the legacy stream.
FAKE_EXPORT(MemcpyBatchAsync, cuMemcpyBatchAsync_v2)
(Address* targets, Address* sources, size_t* bytes, size_t count, BatchAttributes* attributes, size_t* starts,
 size_t attribute_count, StreamHandle stream) {
  ENTER("cuMemcpyBatchAsync_v2");
  if (stream == nullptr || stream == kLegacyStream) return kInvalidValue;
  if (count == 0 || attribute_count != 1 || starts[0] != 0 || attributes[0].source_order != 1) return kInvalidValue;
  for (size_t i = 0; i < count; ++i) {
    const Result result = Copy(call.lock, "cuMemcpyBatchAsync_v2", {{targets[i], sources[i], bytes[i]}}, stream);
    if (result != kSuccess) return result;
  }
  return kSuccess;
}

FAKE_EXPORT(Memcpy2DAsync, cuMemcpy2DAsync_v2)(const Copy2D* copy, StreamHandle stream) {
  ENTER("cuMemcpy2DAsync_v2");
  const Copy2D& c = *copy;
  Address from, to;
  if (!Base(c.source_type, c.source_host, c.source_device, &from) ||
      !Base(c.target_type, c.target_host, c.target_device, &to)) {
    return kInvalidValue;
  }
  if (c.width == 0 || c.height == 0) return kSuccess;
  const bool fits = c.source_pitch >= c.width + c.source_x && c.target_pitch >= c.width + c.target_x;
  if ((c.height > 1 && !fits) || c.source_pitch > kMaxPitch || c.target_pitch > kMaxPitch) return kInvalidValue;
  std::vector<Row> rows;
  for (size_t y = 0; y < c.height; ++y) {
    rows.push_back({to + (c.target_y + y) * c.target_pitch + c.target_x,
                    from + (c.source_y + y) * c.source_pitch + c.source_x, c.width});
  }
  return Copy(call.lock, "cuMemcpy2DAsync_v2", rows, stream);
}

FAKE_EXPORT(MemsetD8Async, cuMemsetD8Async)(Address target, uint8_t value, size_t bytes, StreamHandle stream) {
  ENTER("cuMemsetD8Async");
  if (bytes == 0) return kSuccess;
  Result code;
  Stream* found = FindStream(stream, &code);
  if (found == nullptr) return code;
  Place place;
  code = PlaceOf("cuMemsetD8Async", target, target + bytes, &place);
  if (code == kSuccess && place == Place::kPageable) code = kInvalidValue;
  if (code == kSuccess) code = Accepts(found);
  if (code != kSuccess) return code;
  const auto effect = [target, value, bytes] {
    const std::vector<uint8_t> block(std::min(bytes, size_t{1} << 20), value);
    for (size_t at = 0; at < bytes; at += block.size()) {
      Write("a fill", target + at, std::min(block.size(), bytes - at), block.data());
    }
  };
  Enqueue(found, "a fill", {{target, bytes, true}}, effect);
  return kSuccess;
}
