#include "channel.h"

#include <stdlib.h>

#include <new>

#include "pool.h"
#include "runtime.h"

namespace dlpack::python {

// Stays true when the environment ends, because Python code that runs then must not wait for another event loop. Its
// address differs on each thread.
static thread_local bool is_javascript_thread;

bool IsOwnThread(const Channel* channel) {
  return channel->thread == &is_javascript_thread && channel->objects != nullptr;
}

bool IsJavaScriptThread() { return is_javascript_thread; }

void PostLocked(Channel* channel, Message* message) {
  message->next = nullptr;
  const bool was_empty = channel->first == nullptr;
  *(was_empty ? &channel->first : &channel->last->next) = message;
  channel->last = message;
  if (was_empty) napi_call_threadsafe_function(channel->wake, nullptr, napi_tsfn_nonblocking);
}

bool Post(Channel* channel, Message* message) {
  platform::MutexScope scope(&channel->mutex);
  if (channel->is_closed) return false;
  PostLocked(channel, message);
  return true;
}

// Mutex held.
static Message* TakeAll(Channel* channel) {
  Message* first = channel->first;
  channel->first = nullptr;
  return first;
}

// JavaScript thread, from the event loop; on Bun even after the hooks of the environment have run.
static void Drain(napi_env env, napi_value, void* context, void*) {
  Channel* channel = static_cast<Channel*>(context);
  if (env == nullptr || channel->objects == nullptr) return;
  channel->mutex.Acquire();
  Message* message = TakeAll(channel);
  channel->mutex.Release();
  while (message != nullptr) {
    Message* next = message->next;  // delivering frees it
    napi_handle_scope scope;
    if (napi_open_handle_scope(env, &scope) == napi_ok) {
      message->deliver(channel, message);
      napi_close_handle_scope(env, scope);
    } else {
      message->drop(message);
    }
    message = next;
  }
}

// JavaScript thread, before Node-API destroys the thread-safe function.
static void Close(void* data) {
  Channel* channel = static_cast<Channel*>(data);
  channel->mutex.Acquire();
  channel->is_closed = true;
  for (Message* message = TakeAll(channel); message != nullptr;) {
    Message* next = message->next;
    message->drop(message);
    message = next;
  }
  // Last, because a thread whose request was refused frees the request as soon as the mutex is released.
  RefuseRequests(channel);
  channel->mutex.Release();
  channel->objects = nullptr;
  channel->calls = nullptr;
  napi_delete_reference(channel->env, channel->on_call);
  napi_delete_reference(channel->env, channel->on_settle);
}

bool CallJavaScript(Channel* channel, napi_ref function, size_t count, const napi_value* values, napi_value* result) {
  napi_env env = channel->env;
  napi_value target, receiver;
  return (napi_get_reference_value(env, function, &target) == napi_ok &&
          napi_get_undefined(env, &receiver) == napi_ok &&
          napi_call_function(env, receiver, target, count, values, result) == napi_ok) ||
         ClearException(env);
}

void KeepRunning(Channel* channel, bool keep) {
  if (keep) {
    napi_ref_threadsafe_function(channel->env, channel->wake);
  } else {
    napi_unref_threadsafe_function(channel->env, channel->wake);
  }
}

static const NamedFunction kExports[] = {
    {"abandon", Abandon},
    {"leave", Leave},
    {"thrownBy", ThrownBy},
    {"answer", Answer},
    {"postpone", Postpone},
    {"makeSettler", MakeSettler},
    {},
};

static bool GetFunction(napi_env env, napi_value options, const char* name, napi_ref* out) {
  napi_value function;
  return napi_get_named_property(env, options, name, &function) == napi_ok &&
         napi_create_reference(env, function, 1, out) == napi_ok;
}

const char* OpenChannel(napi_env env, Objects* objects, napi_value options, napi_value target) {
  // Never freed, like a release queue. This costs one small block for each environment.
  void* block = malloc(sizeof(Channel));
  if (block == nullptr) return "out of memory";
  Channel* channel = new (block) Channel();
  channel->env = env;
  napi_value name, threads;
  uint32_t limit = 0;
  if (napi_get_named_property(env, options, "threads", &threads) == napi_ok) {
    napi_get_value_uint32(env, threads, &limit);
  }
  SetPoolLimit(limit);
  if (!GetFunction(env, options, "onCall", &channel->on_call) ||
      !GetFunction(env, options, "onSettle", &channel->on_settle) ||
      napi_create_string_utf8(env, "dlpack.python", NAPI_AUTO_LENGTH, &name) != napi_ok ||
      napi_create_threadsafe_function(env, nullptr, nullptr, name, 0, 1, nullptr, nullptr, channel, Drain,
                                      &channel->wake) != napi_ok) {
    free(channel);
    return "expected functions onCall and onSettle";
  }
  {
    Gil gil;
    channel->functions = api.PyDict_New();
    api.PyErr_Clear();
  }
  if (channel->functions == nullptr) return "out of memory";
  KeepRunning(channel, false);
  channel->objects = objects;
  objects->channel = channel;
  channel->thread = &is_javascript_thread;
  is_javascript_thread = true;
  // Cleanup hooks run last in, first out, so this hook runs before those of the objects and of the thread-safe
  // function.
  napi_add_env_cleanup_hook(env, Close, channel);
  return DefineFunctions(env, target, {kExports}, channel) ? nullptr : "its functions could not be defined";
}

}  // namespace dlpack::python
