#include "context.h"

#include <stdlib.h>

#include <new>

#include "../bindings.h"
#include "failure.h"
#include "run.h"
#include "runtime.h"
#include "session.h"

namespace dlpack {
namespace onnxruntime {

void ReleaseContext(Context* context) {
  if (context->refs.fetch_sub(1, std::memory_order_acq_rel) == 1) free(context);
}

static void KeepRunning(napi_env env, Context* context, int32_t change) {
  context->pending += static_cast<uint32_t>(change);
  if (change > 0 && context->pending == 1) napi_ref_threadsafe_function(env, context->wake);
  if (change < 0 && context->pending == 0) napi_unref_threadsafe_function(env, context->wake);
}

napi_value Promise(napi_env env, Context* context, Job* job) {
  napi_value promise;
  if (napi_create_promise(env, &job->deferred, &promise) != napi_ok) return nullptr;
  job->context = context;
  context->refs.fetch_add(1, std::memory_order_relaxed);
  KeepRunning(env, context, 1);
  return promise;
}

void SettleNow(napi_env env, Job* job) {
  Context* context = job->context;
  napi_value result = job->result(env, job);
  if (result == nullptr) {
    // Without an answer the program would wait forever, and the promise would stay in memory.
    ClearException(env);
    Failure failure = {};
    failure.Set(kFailed, "out of memory");
    result = NewFailure(env, failure);
  }
  if (result != nullptr) napi_resolve_deferred(env, job->deferred, result);
  KeepRunning(env, context, -1);
  job->free(job);
  ReleaseContext(context);
}

// The finished jobs, which now belong to the caller, in the order in which they finished.
static Job* TakeFinished(Context* context) {
  Job* first = nullptr;
  for (Job* job = context->finished.exchange(nullptr, std::memory_order_acq_rel); job != nullptr;) {
    Job* before = job->next;
    job->next = first;
    first = job;
    job = before;
  }
  return first;
}

// No JavaScript thread will settle the finished jobs. Any thread.
static void FreeFinished(Context* context) {
  for (Job* job = TakeFinished(context); job != nullptr;) {
    Job* next = job->next;
    job->free(job);
    ReleaseContext(context);
    job = next;
  }
}

void Finish(Job* job) {
  Context* context = job->context;
  context->refs.fetch_add(1, std::memory_order_relaxed);  // once it is in the list, another thread may free the job
  Job* before = context->finished.load(std::memory_order_relaxed);
  do {
    job->next = before;
  } while (!context->finished.compare_exchange_weak(before, job, std::memory_order_acq_rel, std::memory_order_relaxed));
  if (before == nullptr) {
    bool is_closed;
    {
      platform::MutexScope scope(&context->mutex);
      is_closed = context->is_closed;
      if (!is_closed) napi_call_threadsafe_function(context->wake, nullptr, napi_tsfn_nonblocking);
    }
    if (is_closed) FreeFinished(context);
  }
  ReleaseContext(context);
}

// JavaScript thread, from the event loop.
static void Settle(napi_env env, napi_value, void* data, void*) {
  if (env == nullptr) return;
  Job* job = TakeFinished(static_cast<Context*>(data));
  while (job != nullptr) {
    Job* next = job->next;
    napi_handle_scope scope;
    const bool is_open = napi_open_handle_scope(env, &scope) == napi_ok;
    SettleNow(env, job);
    if (is_open) napi_close_handle_scope(env, scope);
    job = next;
  }
}

// The environment ends. JavaScript thread.
static void Close(void* data) {
  Context* context = static_cast<Context*>(data);
  StopLoads(context);  // first: a closed context's jobs are freed by other threads
  {
    platform::MutexScope scope(&context->mutex);
    context->is_closed = true;
  }
  StopRuns(context);
  FreeFinished(context);
  ReleaseContext(context);
}

static Context* Open(napi_env env, Instance* instance) {
  void* memory = calloc(1, sizeof(Context));
  if (memory == nullptr) return nullptr;
  Context* context = new (memory) Context();
  context->refs.store(1, std::memory_order_relaxed);
  context->instance = instance;
  if (napi_create_threadsafe_function(env, nullptr, nullptr, NewText(env, "dlpack.onnxruntime"), 0, 1, nullptr, nullptr,
                                      context, Settle, &context->wake) != napi_ok) {
    free(memory);
    return nullptr;
  }
  napi_unref_threadsafe_function(env, context->wake);
  // After the threadsafe function, so that this hook runs before its own.
  napi_add_env_cleanup_hook(env, Close, context);
  return context;
}

static napi_value ListProviders(napi_env env) {
  char** names = nullptr;
  int32_t count = 0;
  napi_value list = nullptr;
  napi_create_array(env, &list);
  OrtStatus* status = library.GetAvailableProviders(&names, &count);
  if (status != nullptr) {
    library.ReleaseStatus(status);
    return list;
  }
  for (int32_t i = 0; i < count; ++i) napi_set_element(env, list, static_cast<uint32_t>(i), NewText(env, names[i]));
  status = library.ReleaseAvailableProviders(names, count);
  if (status != nullptr) library.ReleaseStatus(status);
  return list;
}

}  // namespace onnxruntime

napi_value LoadOnnxRuntime(napi_env env, napi_callback_info info) {
  return LoadFrom(env, info, onnxruntime::LoadLibrary);
}

napi_value ReserveOnnxRuntime(napi_env env, napi_callback_info info) {
  return LoadFrom(env, info, onnxruntime::ReserveName);
}

// attachOnnxRuntime(): the functions of one instance with what the library is, or a string with the reason of a
// failure.
napi_value AttachOnnxRuntime(napi_env env, napi_callback_info info) {
  napi_value result;
  onnxruntime::Context* context = onnxruntime::Open(env, DataOf<Instance>(env, info));
  if (context == nullptr || napi_create_object(env, &result) != napi_ok) return NewText(env, "out of memory");
  if (!DefineFunctions(env, result, {onnxruntime::kSessionFunctions, onnxruntime::kRunFunctions}, context))
    return NewText(env, "its functions could not be defined");
  napi_set_named_property(env, result, "version", NewText(env, onnxruntime::library.version_text));
  napi_set_named_property(env, result, "path", NewText(env, onnxruntime::LibraryPath()));
  napi_set_named_property(env, result, "providers", onnxruntime::ListProviders(env));
  return result;
}

}  // namespace dlpack
