// Streams: the current one of each thread, those that JavaScript made, and the order between them.
#ifndef DLPACK_NODE_CUDA_STREAMS_H_
#define DLPACK_NODE_CUDA_STREAMS_H_

#include <atomic>

#include "device.h"

namespace dlpack {
namespace cuda {

// A stream that JavaScript made. Memory that its work uses keeps it, too.
struct Stream {
  std::atomic<uint32_t> refs;
  StreamHandle handle;
  const Device* device;
  BlockCache cache;
  Stream* next;  // all live ones
};

// To the driver, 0 means a default stream that depends on how the caller was compiled; here it is always the legacy
// one.
inline StreamHandle Normalize(StreamHandle handle) { return handle == nullptr ? kLegacyStream : handle; }

// A new stream with one reference; NULL with the reason in `result`.
Stream* CreateStream(const Device* device, uint32_t flags, int32_t priority, Result* result);

// The stream of a handle with one more reference; NULL for streams of others. Any thread.
Stream* FindStream(StreamHandle handle);

// Any thread. The last reference destroys it; the driver finishes what is queued.
void ReleaseStream(Stream* stream);

// Calls `action` for each live stream of a device. It must not release any.
void ForEachStream(const Device* device, void (*action)(Stream* stream));

// Where work on a device is queued by this thread: the legacy default stream until something else is set. Any thread.
StreamHandle CurrentStream(int32_t device);
void SetCurrentStream(int32_t device, StreamHandle handle);

// A stream of a device. Default streams of all devices have the same handles.
struct StreamRef {
  const Device* device;
  StreamHandle handle;

  bool operator==(const StreamRef& other) const { return device == other.device && handle == other.handle; }
};

// Work that `waiting` gets from now on starts after what `awaited` has now. When `waiting` is captured into a graph
// that `awaited` is not part of, returns an error and leaves the capture intact. Any thread.
Result OrderStreams(const StreamRef& waiting, const StreamRef& awaited);

// An event of work that a stream has now; without timing. NULL with the reason in `result`.
EventHandle RecordEvent(const Device* device, StreamHandle stream, Result* result);

// Whether a stream is captured into a graph. The legacy default stream never is.
bool IsCapturing(StreamHandle stream);

}  // namespace cuda
}  // namespace dlpack

#endif  // DLPACK_NODE_CUDA_STREAMS_H_
