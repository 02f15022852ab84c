// Instance: the native state of one evaluation of the package's JavaScript. An environment (the main thread, a worker)
// has one instance for each evaluation. Two instances never share a table, a wire or a queue, and they exchange tensors
// like separate libraries. JavaScript thread only.
#pragma once

#define NAPI_VERSION 8
#include <node_api.h>

#include "exchange/managed_tensor.h"
#include "hidden.h"
#include "memory/buffer_reference.h"
#include "memory/handle_table.h"
#include "memory/release_queue.h"

namespace dlpack {

// A reference to a Storage that JavaScript holds.
struct Held {
  Storage* storage;
  bool is_reporter;  // the garbage collector was told about the memory of this reference
  bool is_at_home;   // this thread is the storage's home
  bool is_lasting;   // its bytes are in `lasting` of the instance
  // Of the last ArrayBuffer that JavaScript made for this handle, or NULL. It may be empty.
  BufferReference* buffer;
};

struct Instance {
  // What each exchange uses comes first, in as few cache lines as possible.
  ThreadCache* thread;
  uint64_t* words;  // the wire, see wire.h
  HandleTable<Held> table;
  int64_t reported;    // bytes that the garbage collector should know about
  int64_t unreported;  // the part that it was not told about yet
  napi_env env;
  napi_ref wire_ref;  // the ArrayBuffer of the wire
  ReleaseQueue* queue;
  LayoutTable layouts;
  bool forbids_external_buffers;
  bool has_named_memory;  // memory/shared_memory.cc added its cleanup hook
  int64_t lasting;        // bytes of imports and Python objects that outlived their tick
  int64_t lasting_limit;  // when they reach this limit, a collection is requested
};

// createInstance({ wire, onRelease }): the functions of a new instance. It ends with the environment.
DLPACK_HIDDEN napi_value CreateInstance(napi_env env, napi_callback_info info);

// Puts the caller's reference into the table; 0 when out of memory (the reference is then released). With `report` the
// memory is reported to the garbage collector, unless some instance did that before.
uint32_t Hold(Instance* self, Storage* storage, bool report);

// Called when a storage has outlived its tick, so that only the garbage collector may find that it is unused.
void Outlive(Instance* self, uint32_t handle);

// Counts memory of another library that only the garbage collector can release, and requests a collection when there is
// much of it, and returns true then. Negative when it is released.
bool AddLasting(Instance* self, int64_t bytes);

// Called when the garbage collector dropped imports. It was needed, so fewer new imports should request it again. A
// program that disposes its imports needs no collections, and does not lower the limit.
void LowerLastingLimit(Instance* self);

// Reports the memory as freed, because the runtime now counts it itself or the reference is dropped.
void TakeReportBack(Instance* self, Held* held);

// NULL for a number that is not held.
inline Storage* GetHeld(Instance* self, uint32_t handle) {
  const Held* held = self->table.Find(handle);
  return held == nullptr ? nullptr : held->storage;
}

// Drops the reference. `released` is a handle; a number that is not held does nothing. With kDetached, JavaScript has
// detached the last buffer that it made for the handle, so the reference of that buffer is dropped, too. Runs foreign
// deleters, which may call this again.
void Drop(Instance* self, uint32_t released);

}  // namespace dlpack
