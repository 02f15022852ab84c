// Environment: what one JavaScript environment (the main thread, a worker) holds. JavaScript thread only.
#ifndef DLPACK_NODE_ENVIRONMENT_H_
#define DLPACK_NODE_ENVIRONMENT_H_

#define NAPI_VERSION 8
#include <node_api.h>

#include "frame.h"
#include "release_queue.h"
#include "storage.h"

namespace dlpack {

// A reference to a Storage that JavaScript holds, by its number in the table. Slot 0 is never used.
struct Held {
  Storage* storage;   // NULL: free
  uint32_t next;      // the next free slot
  uint32_t spare;     // references taken in advance, for exports: one locked instruction for many of them
  bool is_reporter;   // this reference is the one whose memory the garbage collector was told about
};

struct Environment {
  Environment* next;                  // all environments of the process
  std::atomic<int64_t> exports_made;  // written by this environment's thread alone
  napi_env env;
  Frame* frame;
  napi_ref frame_ref;
  ReleaseQueue* queue;
  Held* table;
  uint32_t capacity;
  uint32_t free_slot;
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

// One of the spare references of a number that is held. JavaScript thread.
Storage* TakeReference(Environment* self, uint32_t handle);

// Gives the reference back; a number that is not held does nothing.
void Drop(Environment* self, uint32_t handle);

// Counts an export. JavaScript thread: one writer, so no locked instruction, which is most of what an export costs.
inline void CountExport(Environment* self) {
  self->exports_made.store(self->exports_made.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
}

// Exports that environments made; counts.exports holds those made elsewhere, less all that were deleted. Any thread.
int64_t ExportsMade();

// Tells the garbage collector about memory, in steps large enough to be worth a call.
void Report(Environment* self, int64_t delta);

}  // namespace dlpack

#endif  // DLPACK_NODE_ENVIRONMENT_H_
