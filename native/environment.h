// Environment: what one JavaScript environment (the main thread, a worker) holds. JavaScript thread only.
#ifndef DLPACK_NODE_ENVIRONMENT_H_
#define DLPACK_NODE_ENVIRONMENT_H_

#define NAPI_VERSION 8
#include <node_api.h>

#include "frame.h"
#include "kind.h"
#include "release_queue.h"
#include "storage.h"

namespace dlpack {

// A reference to a Storage that JavaScript holds, by its number in the table. Slot 0 is never used.
struct Held {
  Storage* storage;  // NULL: free
  uint32_t next;     // the next free slot
  bool is_reporter;  // this reference is the one whose memory the garbage collector was told about
  bool is_at_home;   // this thread is the storage's home
};

struct Environment {
  napi_env env;
  ThreadCache* thread;
  Frame* frame;
  napi_ref frame_ref;
  Kind kind;  // of the last import
  ReleaseQueue* queue;
  Held* table;
  uint32_t capacity;
  uint32_t free_slot;
  uint32_t resting_slot;  // the first of those that came free while somebody reads
  uint32_t readers;       // operations that have numbers still to look up: no slot is used again meanwhile
  bool forbids_external_buffers;
  int64_t reported;    // bytes that the garbage collector should know of
  int64_t unreported;  // the part of them that it was not told yet
};

// The environment of a call, made by InitEnvironment. Never NULL there.
Environment* InitEnvironment(napi_env env);

// Puts the caller's reference into the table; 0 when out of memory (the reference is then released). With `report` the
// garbage collector is told about the memory, unless some environment did that before.
uint32_t Hold(Environment* self, Storage* storage, bool report);

// The runtime counts the memory itself from now on, or nobody holds it any more.
void TakeReportBack(Environment* self, uint32_t handle);

// NULL for a number that is not held.
inline Storage* GetHeld(Environment* self, uint32_t handle) {
  return handle < self->capacity ? self->table[handle].storage : nullptr;
}

// Gives the reference back; a number that is not held does nothing.
void Drop(Environment* self, uint32_t handle);

// Whatever runs between these finds the numbers that were held before, or nothing: JavaScript that runs in between may
// let go of them.
inline void BeginReading(Environment* self) { ++self->readers; }
void EndReading(Environment* self);

// Tells the garbage collector about memory, in steps large enough to be worth a call.
void Report(Environment* self, int64_t delta);

}  // namespace dlpack

#endif  // DLPACK_NODE_ENVIRONMENT_H_
