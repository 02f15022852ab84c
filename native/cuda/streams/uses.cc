#include "uses.h"

#include <stdlib.h>

#include "../../lock.h"
#include "../memory/memory.h"
#include "watcher.h"

namespace dlpack::cuda {

namespace {

struct Use {
  StreamRef stream;
  Stream* kept;           // keeps one of our own streams alive; NULL for foreign streams
  EventHandle event;      // marks work on the default stream of a thread, which other threads cannot name
  StreamRef ordered_for;  // a stream that waits for this work already
  uint32_t notes;         // how often more work was noted
  bool is_ready_only;     // none of our work is queued there, only the wait for the producer
  Use* next;
};

// The uses of one storage.
struct Uses {
  void (*destroy)(Storage*);  // the storage's original function
  Use* first;
};

Lock uses_lock;

Uses* UsesOf(Storage* storage) { return static_cast<Uses*>(storage->uses); }

// Most foreign memory is ready on the legacy default stream of its device and is never used on another stream. A mark
// stands for that instead of a list, and the release has nothing to wait for. Lists have even addresses.
void* ReadyMark(const Device* device) { return reinterpret_cast<void*>(static_cast<uintptr_t>(device->id) << 1 | 1); }
bool HasMark(const Storage* storage) { return (reinterpret_cast<uintptr_t>(storage->uses) & 1) != 0; }

StreamRef MarkedStream(const Storage* storage) {
  Result result;  // ignored: the device existed when the mark was made
  return StreamRef{GetDevice(static_cast<int32_t>(reinterpret_cast<uintptr_t>(storage->uses) >> 1), &result),
                   kLegacyStream};
}

void FreeUse(Use* use) {
  if (use->kept != nullptr) ReleaseStream(use->kept);
  if (use->event != nullptr) driver.EventDestroy(use->event);
  free(use);
}

// Work that is queued on `waiting` from now on starts after this use.
Result OrderAfter(const Use& use, const StreamRef& waiting) {
  if (use.event == nullptr) return OrderStreams(waiting, use.stream);
  ContextScope scope(waiting.device);
  // As in OrderStreams, because the driver would break the capture.
  if (IsCapturing(waiting.handle) && !IsCapturing(use.stream.handle)) return kStreamCaptureIsolation;
  return driver.StreamWaitEvent(waiting.handle, use.event, 0);
}

// Whether there is anything to wait for. Work that is captured into a graph does not count, because it is not queued;
// the owner of the graph keeps its memory.
bool IsPending(const Use& use) {
  if (use.event != nullptr) return driver.EventQuery(use.event) == kNotReady;
  return !IsCapturing(use.stream.handle) && driver.StreamQuery(use.stream.handle) == kNotReady;
}

// An event behind the work to wait for: the event of the use, or a new event.
EventHandle TakeEvent(Use* use) {
  EventHandle event = use->event;
  use->event = nullptr;
  Result result;
  return event != nullptr ? event : RecordEvent(use->stream.device, use->stream.handle, &result);
}

void Finish(Storage* storage, Uses* uses) {
  storage->uses = nullptr;
  storage->destroy = uses->destroy;
  free(uses);
  storage->destroy(storage);
}

// Runs instead of the storage's own destructor, when nothing refers to the storage any more. Memory of our pool is
// freed behind the work, on the device. For all other memory the watcher waits for one use after the other.
void Retire(Storage* storage) {
  Uses* uses = UsesOf(storage);
  const StreamRef allocation_stream = AllocationStream(storage, uses->destroy);
  const auto retire = [](void* retired) { Retire(static_cast<Storage*>(retired)); };
  while (uses->first != nullptr) {
    Use* use = uses->first;
    uses->first = use->next;
    if (use->is_ready_only) {
      FreeUse(use);
      continue;
    }
    const Device* device = use->stream.device;
    RelaxedContextScope scope(device);
    const bool is_ordered = use->stream == allocation_stream || !IsPending(*use) ||
                            (allocation_stream.device != nullptr && OrderAfter(*use, allocation_stream) == kSuccess);
    EventHandle event = is_ordered ? nullptr : TakeEvent(use);
    FreeUse(use);
    if (event == nullptr) continue;
    if (Watch(device, event, true, retire, storage)) return;
    driver.EventSynchronize(event);
    driver.EventDestroy(event);
  }
  Finish(storage, uses);
}

Use* FindUse(Uses* uses, const StreamRef& stream) {
  for (Use* use = uses->first; use != nullptr; use = use->next) {
    if (use->stream == stream) return use;
  }
  return nullptr;
}

Use* AddUse(Uses* uses, const StreamRef& stream) {
  Use* use = static_cast<Use*>(calloc(1, sizeof(Use)));
  if (use == nullptr) return nullptr;
  use->stream = stream;
  use->kept = FindStream(stream.handle);
  use->next = uses->first;
  uses->first = use;
  return use;
}

// The list of a storage, made on first use. It starts with the marked stream, or for our own memory with the stream
// that allocated it.
Uses* MakeUses(Storage* storage) {
  const bool has_mark = HasMark(storage);
  if (storage->uses != nullptr && !has_mark) return UsesOf(storage);
  Uses* uses = static_cast<Uses*>(calloc(1, sizeof(Uses)));
  if (uses == nullptr) return nullptr;
  const StreamRef first = has_mark ? MarkedStream(storage) : AllocationStream(storage, storage->destroy);
  if (first.device != nullptr) {
    Use* use = AddUse(uses, first);
    if (use == nullptr) {
      free(uses);
      return nullptr;
    }
    use->is_ready_only = has_mark;
  }
  uses->destroy = storage->destroy;
  storage->uses = uses;
  storage->destroy = Retire;
  return uses;
}

// A graph cannot wait for work outside of it, so this waits until that work is done before it is recorded. A use stays
// in memory as long as the storage has a reference, so this does not hold the lock while it waits. An event may be
// replaced meanwhile.
Result FinishUse(const Use& use) {
  RelaxedContextScope scope(use.stream.device);
  if (!IsPending(use)) return kSuccess;
  if (use.event != nullptr) return driver.EventSynchronize(use.event);
  uses_lock.Release();
  const Result result = driver.StreamSynchronize(use.stream.handle);
  uses_lock.Acquire();
  return result;
}

// The legacy default stream stands for a foreign stream that is ordered with it. The default stream of a thread is
// ordered with it; an event on that stream would not cover what its library queues from now on.
StreamRef LastingStream(const StreamRef& stream) {
  if (stream.handle == kLegacyStream || stream.handle == kPerThreadStream)
    return StreamRef{stream.device, kLegacyStream};
  Stream* own = FindStream(stream.handle);
  if (own != nullptr) {
    ReleaseStream(own);
    return stream;
  }
  ContextScope scope(stream.device);
  uint32_t flags = 0;
  const bool is_blocking =
      driver.StreamGetFlags(stream.handle, &flags) == kSuccess && (flags & kStreamNonBlocking) == 0;
  return is_blocking ? StreamRef{stream.device, kLegacyStream} : stream;
}

bool IsOnAllocationStreamAlone(const Storage* storage, const StreamRef& stream) {
  return storage->uses == nullptr && AllocationStream(storage, storage->destroy) == stream;
}

// Whether all work that is queued on this stream from now on runs after every noted use.
bool IsOrdered(const Storage* storage, const StreamRef& stream) {
  return IsOnAllocationStreamAlone(storage, stream) || (HasMark(storage) && MarkedStream(storage) == stream);
}

// Notes a use, under the lock. `is_ready_only`: it is no work of ours. Only a thread itself can name its default
// stream, so an event stands for that stream.
Result AddNote(Storage* storage, const StreamRef& stream, bool is_ready_only) {
  Uses* uses = MakeUses(storage);
  Use* use = uses == nullptr ? nullptr : FindUse(uses, stream);
  const bool is_new = use == nullptr;
  if (is_new && uses != nullptr) use = AddUse(uses, stream);
  if (use == nullptr) return kOutOfDeviceMemory;
  use->is_ready_only = is_ready_only && (is_new || use->is_ready_only);
  use->ordered_for = StreamRef{nullptr, nullptr};
  ++use->notes;
  if (stream.handle != kPerThreadStream) return kSuccess;
  Result result;
  EventHandle event = RecordEvent(stream.device, stream.handle, &result);
  if (event == nullptr) return result;
  // This handle means another stream on each thread, so the new event is recorded behind the old event.
  if (use->event != nullptr) {
    ContextScope scope(stream.device);
    driver.StreamWaitEvent(stream.handle, use->event, 0);
    driver.EventRecord(event, stream.handle);
    driver.EventDestroy(use->event);
  }
  use->event = event;
  return kSuccess;
}

}  // namespace

Result OrderAfterUses(Storage* storage, const StreamRef& stream) {
  LockScope lock(&uses_lock);
  if (IsOrdered(storage, stream)) return kSuccess;
  if (storage->uses == nullptr && AllocationStream(storage, storage->destroy).device == nullptr) return kSuccess;
  Uses* uses = MakeUses(storage);
  if (uses == nullptr) return kOutOfDeviceMemory;
  const bool is_capturing = IsCapturing(stream.handle);
  // Our streams live while they are in the list. A foreign stream may have been destroyed and its handle used again.
  const bool is_listed = FindUse(uses, stream) != nullptr;
  for (Use* use = uses->first; use != nullptr; use = use->next) {
    if ((is_listed && use->ordered_for == stream) || (use->stream == stream && use->event == nullptr)) continue;
    const bool is_inside = !is_capturing || IsCapturing(use->stream.handle);
    const uint32_t notes = use->notes;
    const Result result = is_inside ? OrderAfter(*use, stream) : FinishUse(*use);
    if (result != kSuccess) return result;
    // While the lock was free, other threads may have queued work that nothing has waited for yet.
    if (use->notes == notes) use->ordered_for = stream;
  }
  return kSuccess;
}

Result NoteUse(Storage* storage, const StreamRef& stream) {
  LockScope lock(&uses_lock);
  return IsOnAllocationStreamAlone(storage, stream) ? kSuccess : AddNote(storage, stream, false);
}

Result Lend(Storage* storage, const StreamRef& stream) {
  const Result result = OrderAfterUses(storage, stream);
  return result == kSuccess ? NoteUse(storage, LastingStream(stream)) : result;
}

// Sets the mark if a mark is enough; false otherwise. New memory needs no lock, because only its holder knows it.
static bool MarkReady(Storage* storage, const StreamRef& stream) {
  if (storage->uses != nullptr || stream.handle != kLegacyStream) return false;
  if (AllocationStream(storage, storage->destroy).device != nullptr) return false;
  storage->uses = ReadyMark(stream.device);
  return true;
}

Result NoteReady(Storage* storage, const StreamRef& stream) {
  if (storage->refs.load(std::memory_order_acquire) == 1 && MarkReady(storage, stream)) return kSuccess;
  LockScope lock(&uses_lock);
  return IsOrdered(storage, stream) || MarkReady(storage, stream) ? kSuccess : AddNote(storage, stream, true);
}

}  // namespace dlpack::cuda
