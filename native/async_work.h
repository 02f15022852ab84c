// Work on a thread of the runtime's pool, and the promise of its result.
#pragma once

#include "exports.h"

namespace dlpack {

struct AsyncWork {
  napi_async_work work;
  napi_deferred deferred;
};

// Takes over a job with a member `work`. Runs job->Run() on another thread. Then, on the JavaScript thread, the promise
// is resolved with job->ResultOf(env, status), which is NULL when the environment ends, and job->Free() is called.
// Returns the promise; NULL when the job was freed at once. JavaScript thread.
template <class Job>
napi_value QueueWork(napi_env env, Job* job) {
  const auto execute = [](napi_env, void* data) { static_cast<Job*>(data)->Run(); };
  const auto complete = [](napi_env env, napi_status status, void* data) {
    Job* job = static_cast<Job*>(data);
    napi_value result = job->ResultOf(env, status);
    if (result != nullptr) napi_resolve_deferred(env, job->work.deferred, result);
    napi_delete_async_work(env, job->work.work);
    job->Free();
  };
  AsyncWork* self = &job->work;
  napi_value promise, name = NewText(env, "dlpack");
  if (name != nullptr && napi_create_promise(env, &self->deferred, &promise) == napi_ok &&
      napi_create_async_work(env, nullptr, name, execute, complete, job, &self->work) == napi_ok) {
    if (napi_queue_async_work(env, self->work) == napi_ok) return promise;
    napi_delete_async_work(env, self->work);
  }
  job->Free();
  return nullptr;
}

}  // namespace dlpack
