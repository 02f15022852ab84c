#include "uses.h"

#include <stdlib.h>

#include "../lock.h"
#include "memory.h"
#include "watcher.h"

namespace dlpack {
namespace cuda {

namespace {

struct Use {
  const Device* device;
  StreamHandle handle;
  Stream* stream;            // keeps a stream of ours; NULL for others
  EventHandle event;         // for the stream of a thread, which others cannot name: recorded when the work was queued
  StreamHandle ordered_for;  // a stream that waits for this work already
  bool is_ready_only;        // nothing of ours is queued there: only the wait for the one who made the data
  Use* next;
};

// Of one storage.
struct Uses {
  void (*destroy)(Storage*);  // the storage's own
  Use* first;
};

Lock uses_lock;

Uses* UsesOf(Storage* storage) { return static_cast<Uses*>(storage->uses); }

void FreeUse(Use* use) {
  if (use->stream != nullptr) ReleaseStream(use->stream);
  if (use->event != nullptr) driver.EventDestroy(use->event);
  free(use);
}

// Work that `waiting` gets from now on starts after this.
Result OrderAfter(const Use& use, StreamHandle waiting) {
  if (use.event == nullptr) return OrderStreams(use.device, waiting, use.handle);
  ContextScope scope(use.device);
  return driver.StreamWaitEvent(waiting, use.event, 0);
}

void Finish(Storage* storage, Uses* uses) {
  storage->uses = nullptr;
  storage->destroy = uses->destroy;
  free(uses);
  storage->destroy(storage);
}

void RetireStep(void* argument);

// Instead of the storage's own destructor. Memory of our pool goes back behind the work, on the device; for all other, the
// watcher waits for one use after the other. Nobody else refers to the storage any more.
void Retire(Storage* storage) {
  Uses* uses = UsesOf(storage);
  const StreamHandle home = HomeStream(storage, uses->destroy);
  while (uses->first != nullptr) {
    Use* use = uses->first;
    uses->first = use->next;
    if (use->is_ready_only) {
      FreeUse(use);
      continue;
    }
    const Device* device = use->device;
    ContextScope scope(device);
    RelaxedScope relaxed;
    Result result = kSuccess;
    EventHandle event = nullptr;
    // Work that is captured into a graph has not been queued: its memory is for the graph's maker to keep.
    const bool is_queued = use->handle != home && !(use->event == nullptr && IsCapturing(use->handle));
    if (is_queued && (home == nullptr || OrderAfter(*use, home) != kSuccess)) {
      event = use->event != nullptr ? use->event : RecordEvent(device, use->handle, &result);
      use->event = nullptr;
    }
    FreeUse(use);
    if (event == nullptr) continue;
    if (driver.EventQuery(event) == kNotReady && WatchAndDestroy(device, event, RetireStep, storage)) return;
    driver.EventSynchronize(event);  // has happened, unless there was no thread to be had
    driver.EventDestroy(event);
  }
  Finish(storage, uses);
}

void RetireStep(void* argument) { Retire(static_cast<Storage*>(argument)); }

Use* FindUse(Uses* uses, const Device* device, StreamHandle handle) {
  for (Use* use = uses->first; use != nullptr; use = use->next) {
    if (use->device == device && use->handle == handle) return use;
  }
  return nullptr;
}

Use* AddUse(Uses* uses, const Device* device, StreamHandle handle) {
  Use* use = static_cast<Use*>(calloc(1, sizeof(Use)));
  if (use == nullptr) return nullptr;
  use->device = device;
  use->handle = handle;
  use->stream = FindStream(handle);
  use->next = uses->first;
  uses->first = use;
  return use;
}

// The list of a storage, made on first need; memory of our own was used by its home stream before.
Uses* MakeUses(Storage* storage, const Device* device) {
  if (storage->uses != nullptr) return UsesOf(storage);
  Uses* uses = static_cast<Uses*>(calloc(1, sizeof(Uses)));
  if (uses == nullptr) return nullptr;
  const StreamHandle home = HomeStream(storage, storage->destroy);
  if (home != nullptr && AddUse(uses, device, home) == nullptr) {
    free(uses);
    return nullptr;
  }
  uses->destroy = storage->destroy;
  storage->uses = uses;
  storage->destroy = Retire;
  return uses;
}

bool IsHomeAlone(const Storage* storage, StreamHandle stream) {
  return storage->uses == nullptr && HomeStream(storage, storage->destroy) == stream;
}

// The stream of a thread is known to that thread only: an event stands for it.
Result RecordThreadUse(Use* use, const Device* device, StreamHandle stream) {
  if (stream != kPerThreadStream) return kSuccess;
  ContextScope scope(device);
  Result result;
  EventHandle event = RecordEvent(device, stream, &result);
  if (event == nullptr) return result;
  // Threads have streams of their own under this name: the new event comes behind the old one.
  if (use->event != nullptr) {
    driver.StreamWaitEvent(stream, use->event, 0);
    driver.EventRecord(event, stream);
    driver.EventDestroy(use->event);
  }
  use->event = event;
  return kSuccess;
}

}  // namespace

Result OrderAfterUses(Storage* storage, const Device* device, StreamHandle stream) {
  LockScope lock(&uses_lock);
  if (IsHomeAlone(storage, stream)) return kSuccess;
  const bool has_home = HomeStream(storage, storage->destroy) != nullptr;
  if (storage->uses == nullptr && !has_home) return kSuccess;
  Uses* uses = MakeUses(storage, device);
  if (uses == nullptr) return kOutOfDeviceMemory;
  for (Use* use = uses->first; use != nullptr; use = use->next) {
    if (use->ordered_for == stream || (use->handle == stream && use->event == nullptr)) continue;
    const Result result = OrderAfter(*use, stream);
    if (result != kSuccess) return result;
    use->ordered_for = stream;
  }
  return kSuccess;
}

Result NoteUse(Storage* storage, const Device* device, StreamHandle stream) {
  LockScope lock(&uses_lock);
  if (IsHomeAlone(storage, stream)) return kSuccess;
  Uses* uses = MakeUses(storage, device);
  Use* use = uses == nullptr ? nullptr : FindUse(uses, device, stream);
  if (use == nullptr && uses != nullptr) use = AddUse(uses, device, stream);
  if (use == nullptr) return kOutOfDeviceMemory;
  use->ordered_for = nullptr;
  use->is_ready_only = false;
  return RecordThreadUse(use, device, stream);
}

Result NoteReady(Storage* storage, const Device* device, StreamHandle stream) {
  LockScope lock(&uses_lock);
  if (IsHomeAlone(storage, stream)) return kSuccess;
  Uses* uses = MakeUses(storage, device);
  if (uses == nullptr) return kOutOfDeviceMemory;
  Use* use = FindUse(uses, device, stream);
  if (use == nullptr) {
    use = AddUse(uses, device, stream);
    if (use == nullptr) return kOutOfDeviceMemory;
    use->is_ready_only = true;
  }
  use->ordered_for = nullptr;
  return RecordThreadUse(use, device, stream);
}

}  // namespace cuda
}  // namespace dlpack
