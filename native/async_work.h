// Work on a thread of the runtime's pool, and the promise of its result.
#pragma once

#include "exports.h"

namespace dlpack {

struct AsyncWork {
  napi_async_work work;
  napi_deferred deferred;
};

// Runs `execute` with `data` on another thread, and then `complete` on the JavaScript thread. Returns the promise; NULL
// when neither will run. JavaScript thread.
inline napi_value QueueWork(napi_env env, napi_async_execute_callback execute, napi_async_complete_callback complete,
                            void* data, AsyncWork* self) {
  napi_value promise, name = NewText(env, "dlpack");
  if (name == nullptr || napi_create_promise(env, &self->deferred, &promise) != napi_ok ||
      napi_create_async_work(env, nullptr, name, execute, complete, data, &self->work) != napi_ok) {
    return nullptr;
  }
  if (napi_queue_async_work(env, self->work) == napi_ok) return promise;
  napi_delete_async_work(env, self->work);
  return nullptr;
}

// Resolves the promise, for `complete`. Without a result, when the environment ends, it is not resolved. JavaScript
// thread.
inline void FinishWork(napi_env env, const AsyncWork& self, napi_value result) {
  if (result != nullptr) napi_resolve_deferred(env, self.deferred, result);
  napi_delete_async_work(env, self.work);
}

}  // namespace dlpack
