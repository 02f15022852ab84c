#include "stream.h"

#include <stdlib.h>

#include <new>

#include "../../lock.h"
#include "../memory/memory.h"

namespace dlpack::cuda {

static Stream* streams;
static Lock streams_lock;

static thread_local StreamHandle current_streams[kMaxDevices];

Stream* CreateStream(const Device* device, uint32_t flags, int32_t priority, Result* result) {
  RelaxedContextScope scope(device);
  *result = scope.result();
  StreamHandle handle = nullptr;
  if (*result == kSuccess) *result = driver.StreamCreateWithPriority(&handle, flags, priority);
  if (*result != kSuccess) return nullptr;
  void* block = malloc(sizeof(Stream));
  if (block == nullptr) {
    driver.StreamDestroy(handle);
    *result = kOutOfDeviceMemory;
    return nullptr;
  }
  Stream* stream = new (block) Stream();
  stream->refs.store(1, std::memory_order_relaxed);
  stream->handle = handle;
  stream->device = device;
  LockScope lock(&streams_lock);
  stream->next = streams;
  streams = stream;
  return stream;
}

Stream* FindStream(StreamHandle handle) {
  LockScope lock(&streams_lock);
  for (Stream* stream = streams; stream != nullptr; stream = stream->next) {
    if (stream->handle != handle) continue;
    stream->refs.fetch_add(1, std::memory_order_relaxed);
    return stream;
  }
  return nullptr;
}

void ReleaseStream(Stream* stream) {
  {
    // Under the lock, or FindStream could return a stream that is being destroyed.
    LockScope lock(&streams_lock);
    if (stream->refs.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
    Stream** at = &streams;
    while (*at != stream) at = &(*at)->next;
    *at = stream->next;
  }
  FlushCache(&stream->cache);
  RelaxedContextScope scope(stream->device);
  driver.StreamDestroy(stream->handle);
  free(stream);
}

void ForEachStream(const Device* device, void (*action)(Stream* stream)) {
  LockScope lock(&streams_lock);
  for (Stream* stream = streams; stream != nullptr; stream = stream->next) {
    if (stream->device == device) action(stream);
  }
}

StreamHandle CurrentStream(int32_t device) {
  return device >= 0 && device < kMaxDevices ? Normalize(current_streams[device]) : kLegacyStream;
}

void SetCurrentStream(int32_t device, StreamHandle handle) {
  if (device >= 0 && device < kMaxDevices) current_streams[device] = handle;
}

EventHandle RecordEvent(const Device* device, StreamHandle stream, Result* result) {
  ContextScope scope(device);
  *result = scope.result();
  EventHandle event = nullptr;
  if (*result == kSuccess) *result = driver.EventCreate(&event, kEventDisableTiming);
  if (*result != kSuccess) return nullptr;
  *result = driver.EventRecord(event, stream);
  if (*result == kSuccess) return event;
  driver.EventDestroy(event);
  return nullptr;
}

Result OrderStreams(const StreamRef& waiting, const StreamRef& awaited) {
  if (waiting == awaited) return kSuccess;
  Result result;
  {
    ContextScope scope(waiting.device);
    if (IsCapturing(waiting.handle)) {
      // The driver would return the same error, and break the capture.
      ContextScope other(awaited.device);
      if (!IsCapturing(awaited.handle)) return kStreamCaptureIsolation;
    }
  }
  EventHandle event = RecordEvent(awaited.device, awaited.handle, &result);
  if (event == nullptr) return result;
  ContextScope scope(waiting.device);
  result = driver.StreamWaitEvent(waiting.handle, event, 0);
  // The driver keeps the data of the event that it still needs.
  driver.EventDestroy(event);
  return result;
}

bool IsCapturing(StreamHandle stream) {
  CaptureStatus status = kCaptureNone;
  if (stream == kLegacyStream) return false;
  return driver.StreamIsCapturing(stream, &status) == kSuccess && status == kCaptureActive;
}

}  // namespace dlpack::cuda
