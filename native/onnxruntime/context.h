// Context: ONNX Runtime for one instance of the package. Results of other threads reach its JavaScript thread through
// it.
#pragma once

#include <atomic>

#include "../exports.h"
#include "../hidden.h"
#include "../instance.h"
#include "../platform/platform.h"
#include "pool.h"

namespace dlpack::onnxruntime {

struct Context;
struct Load;

// Work that a thread of the pool does for a context, and the promise of its result.
struct Job {
  Task task;  // first, because the pool knows only this
  Job* next;  // the job that finished before this one
  Context* context;
  napi_deferred deferred;
  // JavaScript thread: the value of the promise; NULL when the environment ends.
  napi_value (*result)(napi_env env, Job* self);
  void (*free)(Job* self);  // any thread
};

struct Context {
  std::atomic<uint32_t> refs;  // the environment, and each job that is not free
  Instance* instance;          // JavaScript thread only
  uint32_t pending;            // jobs whose promise is open; JavaScript thread only
  Load* loads;                 // that have no result yet; JavaScript thread only
  // Finished jobs, the last one first. Not under the mutex: the JavaScript thread often wakes while another thread is
  // still in the call that woke it, and would wait.
  std::atomic<Job*> finished;
  platform::Mutex mutex;  // guards all below
  napi_threadsafe_function wake;
  bool is_closed;  // the environment has ended
};

// Makes the promise of a job, which the caller then passes to a thread. NULL when the environment ends. JavaScript
// thread.
napi_value Promise(napi_env env, Context* context, Job* job);

// The job has no thread: settles its promise now. JavaScript thread.
void SettleNow(napi_env env, Job* job);

// The job has finished: its promise is settled on the JavaScript thread, or the job is freed where there is none any
// more. Any thread.
void Finish(Job* job);

void ReleaseContext(Context* context);

// session.cc, run.cc
DLPACK_HIDDEN extern const NamedFunction kSessionFunctions[], kRunFunctions[];

}  // namespace dlpack::onnxruntime
