#include "snapshot.h"

#include <stdlib.h>

#include <new>

#include "runtime.h"

namespace dlpack::python {

Snapshot* TakeSnapshot() {
  Ref module(api.PyImport_ImportModule("contextvars"));
  Ref copy_context(module ? api.PyObject_GetAttrString(module.get(), "copy_context") : nullptr);
  Ref context(copy_context ? api.PyObject_CallObject(copy_context.get(), nullptr) : nullptr);
  if (!context) return nullptr;
  void* block = malloc(sizeof(Snapshot));
  if (block == nullptr) {
    api.PyErr_SetString(api.PyExc_RuntimeError, "Out of memory for an asynchronous call");
    return nullptr;
  }
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
  Ref copy(api.PyObject_GetAttrString(snapshot.context, "copy"));
  Ref context(copy ? api.PyObject_CallObject(copy.get(), nullptr) : nullptr);
  return context ? api.PyObject_GetAttrString(context.get(), "run") : nullptr;
}

}  // namespace dlpack::python
