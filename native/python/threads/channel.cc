#include "channel.h"

namespace dlpack::python {

// Stays true when the environment ends, because Python code that runs then must not wait for another event loop. Its
// address differs on each thread.
static thread_local bool is_javascript_thread;

bool IsOwnThread(const Objects* objects) { return objects->thread == &is_javascript_thread && !objects->is_closed; }

bool IsJavaScriptThread() { return is_javascript_thread; }

void PostLocked(Objects* objects, Message* message) {
  message->next = nullptr;
  const bool was_empty = objects->first == nullptr;
  *(was_empty ? &objects->first : &objects->last->next) = message;
  objects->last = message;
  if (was_empty) napi_call_threadsafe_function(objects->wake, nullptr, napi_tsfn_nonblocking);
}

bool Post(Objects* objects, Message* message) {
  platform::MutexScope scope(&objects->mutex);
  if (objects->is_closed) return false;
  PostLocked(objects, message);
  return true;
}

// The next message, or NULL. It is the only one that is not in the list while it is delivered, because its JavaScript
// may end the process, which refuses the requests in the list.
static Message* Take(Objects* objects) {
  platform::MutexScope scope(&objects->mutex);
  Message* message = objects->is_closed ? nullptr : objects->first;
  if (message != nullptr) objects->first = message->next;
  return message;
}

// JavaScript thread, from the event loop; on Bun even after the hooks of the environment have run.
static void Drain(napi_env env, napi_value, void* context, void*) {
  Objects* objects = static_cast<Objects*>(context);
  if (env == nullptr) return;
  // As many as there were at the start, because the event loop has other work, too.
  objects->mutex.Acquire();
  uint32_t count = 0;
  for (Message* message = objects->first; message != nullptr; message = message->next) ++count;
  objects->mutex.Release();
  for (; count > 0; --count) {
    Message* message = Take(objects);
    if (message == nullptr) return;
    napi_handle_scope scope;
    if (napi_open_handle_scope(env, &scope) == napi_ok) {
      message->deliver(objects, message);  // frees it
      napi_close_handle_scope(env, scope);
    } else {
      message->drop(message);
    }
  }
  platform::MutexScope scope(&objects->mutex);
  if (!objects->is_closed && objects->first != nullptr)
    napi_call_threadsafe_function(objects->wake, nullptr, napi_tsfn_nonblocking);
}

// Refuses the requests of waiting threads and removes them from the messages. Mutex held: a waiting thread frees its
// request as soon as the mutex is released. Finished calls stay, because the list of calls has them, too.
static void RefuseWaiting(Objects* objects) {
  objects->last = nullptr;
  for (Message** at = &objects->first; *at != nullptr;) {
    if (IsRequest(*at)) {
      *at = (*at)->next;
    } else {
      objects->last = *at;
      at = &(*at)->next;
    }
  }
  RefuseRequests(objects);
}

void StopAnswering(Objects* objects) {
  platform::MutexScope scope(&objects->mutex);
  objects->is_leaving = true;
  RefuseWaiting(objects);
}

void CloseChannel(Objects* objects) {
  Message* message;
  {
    platform::MutexScope scope(&objects->mutex);
    objects->is_closed = true;
    RefuseWaiting(objects);
    message = objects->first;
    objects->first = nullptr;
  }
  // Without the mutex, because the deleter of an argument may wait for the GIL, whose thread may wait for the mutex.
  while (message != nullptr) {
    Message* next = message->next;
    message->drop(message);
    message = next;
  }
}

bool CallJavaScript(Objects* objects, napi_ref function, size_t count, const napi_value* values, napi_value* result) {
  napi_env env = objects->instance->env;
  napi_value target, receiver;
  return (napi_get_reference_value(env, function, &target) == napi_ok &&
          napi_get_undefined(env, &receiver) == napi_ok &&
          napi_call_function(env, receiver, target, count, values, result) == napi_ok) ||
         ClearException(env);
}

void KeepRunning(Objects* objects, bool keep) {
  if (keep) {
    napi_ref_threadsafe_function(objects->instance->env, objects->wake);
  } else {
    napi_unref_threadsafe_function(objects->instance->env, objects->wake);
  }
}

const char* OpenChannel(Objects* objects) {
  napi_env env = objects->instance->env;
  {
    Gil gil;
    objects->functions = api.PyDict_New();
    api.PyErr_Clear();
  }
  napi_value name;
  if (objects->functions == nullptr ||
      napi_create_string_utf8(env, "dlpack.python", NAPI_AUTO_LENGTH, &name) != napi_ok ||
      napi_create_threadsafe_function(env, nullptr, nullptr, name, 0, 1, nullptr, nullptr, objects, Drain,
                                      &objects->wake) != napi_ok)
    return "out of memory";
  KeepRunning(objects, false);
  objects->thread = &is_javascript_thread;
  is_javascript_thread = true;
  return nullptr;
}

}  // namespace dlpack::python
