// Instance: the native state of one evaluation of the package's JavaScript. An environment (the main thread, a worker)
// has one instance for each evaluation. Two instances never share a table, a wire or a queue, and they exchange tensors
// like separate libraries. JavaScript thread only.
#pragma once

#define NAPI_VERSION 8
#include <node_api.h>

#include "handle_table.h"
#include "managed_tensor.h"
#include "release_queue.h"

namespace dlpack {

// A reference to a Storage that JavaScript holds.
struct Held {
  Storage* storage;
  bool is_reporter;  // the garbage collector was told about the memory of this reference
  bool is_at_home;   // this thread is the storage's home
  bool is_lasting;   // its bytes are in `lasting` of the instance
};

// Everything about a tensor that JavaScript sent, except its memory. JavaScript numbers the layouts that it sends, and
// native code keeps the last few. JavaScript leaves out a layout that native code keeps, and native code then checks
// only that the elements lie inside the memory. docs/decisions/checked-layouts.md has the figures.
struct CheckedLayout {
  uint32_t number;  // 0: none
  Reach reach;
  Descriptor descriptor;  // its offset and trace are those of the tensor that was read last
};

struct Instance {
  // What each exchange uses comes first, in as few cache lines as possible.
  ThreadCache* thread;
  uint64_t* words;  // the wire, see wire.h
  HandleTable<Held> table;
  int64_t reported;           // bytes that the garbage collector should know about
  int64_t unreported;         // the part that it was not told about yet
  TensorSignature signature;  // of the last import
  napi_env env;
  napi_ref wire_ref;  // the ArrayBuffer of the wire
  ReleaseQueue* queue;
  CheckedLayout layouts[kKeptLayouts];  // at `number % kKeptLayouts`
  bool forbids_external_buffers;
  bool has_named_memory;  // files/shared_memory.cc added its cleanup hook
  int64_t lasting;        // bytes of imports that outlived their tick
  int64_t lasting_limit;  // when they reach this limit, a collection is requested
};

// createInstance({ wire, onRelease }): the functions of a new instance. It ends with the environment.
napi_value CreateInstance(napi_env env, napi_callback_info info);

// Puts the caller's reference into the table; 0 when out of memory (the reference is then released). With `report` the
// memory is reported to the garbage collector, unless some instance did that before.
uint32_t Hold(Instance* self, Storage* storage, bool report);

// Called when a storage has outlived its tick, so that only the garbage collector may find that it is unused.
void Outlive(Instance* self, uint32_t handle);

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

// Drops the reference; a number that is not held does nothing. Runs foreign deleters, which may call this again.
void Drop(Instance* self, uint32_t handle);

}  // namespace dlpack
