// Streams: the current stream of each thread, the streams that JavaScript made, and the order between streams.
#pragma once

#include <atomic>

#include "../devices.h"

namespace dlpack::cuda {

// A stream that JavaScript made. Memory that its work uses keeps a reference, too.
struct Stream {
  std::atomic<uint32_t> refs;
  StreamHandle handle;
  const Device* device;
  BlockCache cache;
  Stream* next;  // links all live streams
};

// To the driver, 0 means a default stream that depends on how the caller was compiled; here it is always the legacy
// stream.
inline StreamHandle Normalize(StreamHandle handle) { return handle == nullptr ? kLegacyStream : handle; }

// A new stream with one reference; NULL with the reason in `result`.
Stream* CreateStream(const Device* device, uint32_t flags, int32_t priority, Result* result);

// The stream of a handle with a new reference for the caller; NULL for foreign streams. Any thread.
Stream* FindStream(StreamHandle handle);

// Any thread. Dropping the last reference destroys the stream; the driver finishes its queued work.
void ReleaseStream(Stream* stream);

// Calls `action` for each live stream of a device. `action` must not release a stream.
void ForEachStream(const Device* device, void (*action)(Stream* stream));

// The stream on which this thread queues work of a device: the legacy default stream until another stream is set. Any
// thread.
StreamHandle CurrentStream(int32_t device);
void SetCurrentStream(int32_t device, StreamHandle handle);

// A stream of a device. Default streams of all devices have the same handles.
struct StreamRef {
  const Device* device;
  StreamHandle handle;

  bool operator==(const StreamRef& other) const { return device == other.device && handle == other.handle; }
};

// Work that is queued on `waiting` from now on starts after the work that `awaited` has now. When `waiting` is captured
// into a graph that `awaited` is not part of, returns an error and leaves the capture intact. Any thread.
Result OrderStreams(const StreamRef& waiting, const StreamRef& awaited);

// Records an event, without timing, behind the work that a stream has now. NULL with the reason in `result`.
EventHandle RecordEvent(const Device* device, StreamHandle stream, Result* result);

// Whether a stream is captured into a graph. The legacy default stream never is.
bool IsCapturing(StreamHandle stream);

}  // namespace dlpack::cuda
