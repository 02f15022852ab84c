// Snapshot: the context variables of a JavaScript thread, for asynchronous calls that run on another thread. Calls
// share it by a reference count, because starting a call must not wait for the GIL.
#pragma once

#include <atomic>

#include "api.h"

namespace dlpack::python {

struct Snapshot {
  std::atomic<uint32_t> references;
  Object* context;  // a contextvars.Context that is never entered
};

// The context variables of this thread, as they are now. NULL with an exception set. GIL held.
Snapshot* TakeSnapshot();

// Any thread, no GIL needed. NULL is allowed and does nothing.
Snapshot* RetainSnapshot(Snapshot* snapshot);
void ReleaseSnapshot(Snapshot* snapshot);

// `run` of a copy of the context. A new reference, or NULL with an exception set. GIL held.
Object* RunnerOf(const Snapshot& snapshot);

}  // namespace dlpack::python
