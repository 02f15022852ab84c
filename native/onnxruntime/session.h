// Session: a loaded model. Runs hold it, so it may be released during a run.
#pragma once

#include <atomic>

#include "../platform/platform.h"
#include "context.h"
#include "runtime.h"
#include "session_device.h"

namespace dlpack::onnxruntime {

struct Run;

struct Session {
  std::atomic<uint32_t> refs;  // JavaScript, and each run
  OrtSession* handle;
  OrtRunOptions* options;  // of runs that need none of their own
  SessionDevice device;
  // Names belong to the library's own allocator. Inputs that have a default value in the model come last.
  uint32_t input_count;
  uint32_t output_count;
  char** input_names;
  char** output_names;
  Task release;           // frees the session
  platform::Mutex mutex;  // guards all below
  uint32_t running;
  uint32_t limit;
  Run* first;  // runs that wait for others of this session
  Run* last;
};

// Any thread. After the last release a thread of the pool frees the session: the library then waits for the threads of
// the session, and the JavaScript thread must not.
void ReleaseSession(Session* session);

// The environment of a context ends, so its models are not needed any more. JavaScript thread.
void StopLoads(Context* context);

// The session in an external of JavaScript; NULL for other values. JavaScript thread.
Session* SessionOf(napi_env env, napi_value external);

}  // namespace dlpack::onnxruntime
