#include "snapshot.h"

#include <stdlib.h>

#include <new>

#include "calls.h"

namespace dlpack::python {

Snapshot* TakeSnapshot() {
  const Ref copy_context(ImportFrom("contextvars", "copy_context"));
  Ref context(CallWith(copy_context));
  if (!context) return nullptr;
  void* block = malloc(sizeof(Snapshot));
  if (block == nullptr) return Raise(api.PyExc_RuntimeError, "Out of memory for an asynchronous call");
  Snapshot* snapshot = new (block) Snapshot();
  snapshot->references.store(1, std::memory_order_relaxed);
  snapshot->context = context.take();
  return snapshot;
}

Snapshot* RetainSnapshot(Snapshot* snapshot) {
  if (snapshot != nullptr) snapshot->references.fetch_add(1, std::memory_order_relaxed);
  return snapshot;
}

void ReleaseSnapshot(Snapshot* snapshot) {
  if (snapshot == nullptr || snapshot->references.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  DeferDecRef(snapshot->context);
  free(snapshot);
}

Object* RunnerOf(const Snapshot& snapshot) {
  const Ref copy(api.PyObject_GetAttrString(snapshot.context, "copy"));
  const Ref context(CallWith(copy));
  return Attribute(context, "run");
}

}  // namespace dlpack::python
