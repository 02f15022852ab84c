// Instance: the native state of one evaluation of the package's JavaScript. An environment (the main thread, a worker)
// has one for each time that it evaluates the package: two never share a table, a wire or a queue, and tensors cross
// between them as between strangers. JavaScript thread only.
#ifndef DLPACK_NODE_INSTANCE_H_
#define DLPACK_NODE_INSTANCE_H_

#define NAPI_VERSION 8
#include <node_api.h>

#include "handle_table.h"
#include "release_queue.h"
#include "storage.h"
#include "tensor_signature.h"

namespace dlpack {

// A reference to a Storage that JavaScript holds.
struct Held {
  Storage* storage;
  bool is_reporter;  // this reference is the one whose memory the garbage collector was told about
  bool is_at_home;   // this thread is the storage's home
};

struct Instance {
  napi_env env;
  ThreadCache* thread;
  uint64_t* words;    // the wire, see wire.h
  napi_ref wire_ref;  // the ArrayBuffer that they belong to
  ReleaseQueue* queue;
  HandleTable<Held> table;
  TensorSignature signature;  // of the last import
  bool forbids_external_buffers;
  int64_t reported;    // bytes that the garbage collector should know of
  int64_t unreported;  // the part of them that it was not told yet
};

// createInstance({ wire, onRelease }): the functions of a new instance. It ends with the environment.
napi_value CreateInstance(napi_env env, napi_callback_info info);

// Puts the caller's reference into the table; 0 when out of memory (the reference is then released). With `report` the
// garbage collector is told about the memory, unless some instance did that before.
uint32_t Hold(Instance* self, Storage* storage, bool report);

// The runtime counts the memory itself from now on, or nobody holds it any more.
void TakeReportBack(Instance* self, Held* held);

// NULL for a number that is not held.
inline Storage* GetHeld(Instance* self, uint32_t handle) {
  const Held* held = self->table.Find(handle);
  return held == nullptr ? nullptr : held->storage;
}

// Gives the reference back; a number that is not held does nothing. Runs foreign deleters, which may come back here.
void Drop(Instance* self, uint32_t handle);

}  // namespace dlpack

#endif  // DLPACK_NODE_INSTANCE_H_
