// The way from any thread to the JavaScript thread of one environment: finished calls and calls of JavaScript functions
// queue here and are delivered by its event loop. Outlives its environment, because threads and Python objects refer to
// it.
#ifndef DLPACK_NODE_PYTHON_CHANNEL_H_
#define DLPACK_NODE_PYTHON_CHANNEL_H_

#include "../platform/platform.h"
#include "values.h"

namespace dlpack {
namespace python {

struct AsyncCall;
struct Channel;
struct FunctionRequest;

struct Message {
  Message* next;
  void (*deliver)(Channel* channel, Message* self);  // JavaScript thread
  void (*drop)(Message* self);                       // the environment ended first; its thread, mutex held
};

struct Channel {
  platform::Mutex mutex;  // guards the next six
  bool is_closed;
  napi_threadsafe_function wake;
  Message* first;
  Message* last;
  FunctionRequest* requests;  // calls of JavaScript functions that nobody answered yet
  uint32_t last_request;
  // JavaScript thread only.
  napi_env env;
  Objects* objects;
  napi_ref on_call;
  napi_ref on_settle;
  AsyncCall* calls;    // that JavaScript waits for
  Object* functions;   // a dict of weak references to callables, by the number of their function; GIL
  const void* thread;  // an address of that thread alone; compared on any
};

// Makes the channel of an environment and adds its functions to `target`. `options` has the JavaScript functions
// `onCall` and `onSettle`, and `threads`, the limit of the pool. NULL, or what went wrong. JavaScript thread.
const char* OpenChannel(napi_env env, Objects* objects, napi_value options, napi_value target);

// Queues a message; false when the environment has ended. Any thread.
bool Post(Channel* channel, Message* message);

// The same with the mutex held and the channel open. Any thread.
void PostLocked(Channel* channel, Message* message);

// Keeps the process running for asynchronous calls, or no more. JavaScript thread.
void KeepRunning(Channel* channel, bool keep);

// Calls one of the two JavaScript functions; false when it threw, which it never does by itself: the stack is full or
// the environment ends. Nothing is pending afterwards. JavaScript thread, with a handle scope.
bool CallJavaScript(Channel* channel, napi_ref function, size_t count, const napi_value* values, napi_value* result);

// True on the JavaScript thread of this environment, while it lasts.
bool IsOwnThread(const Channel* channel);

// True on the JavaScript thread of any environment, and after its end.
bool IsJavaScriptThread();

// The channel of a function that JavaScript called, and its arguments, as many as it was made for.
template <size_t n>
Channel* ChannelOf(napi_env env, napi_callback_info info, napi_value (&values)[n]) {
  void* data = nullptr;
  size_t count = n;
  napi_get_cb_info(env, info, &count, values, nullptr, &data);
  return static_cast<Channel*>(data);
}

// 0 for what is none.
inline uint32_t NumberIn(napi_env env, napi_value value) {
  uint32_t number = 0;
  napi_get_value_uint32(env, value, &number);
  return number;
}

// async_call.cc
// Starts the call of the cells, a callable first, the last `keywords` of them names and values, without waiting for the
// GIL where that can be. Fails only before the call begins. JavaScript thread.
napi_value StartCall(napi_env env, Objects* self, PerformRequest* request, Spill* spill);
// The number of the asynchronous call of this channel that runs on this thread, or 0.
uint32_t CurrentCall(const Channel* channel);
napi_value Abandon(napi_env env, napi_callback_info info);
napi_value Leave(napi_env env, napi_callback_info info);

// function_type.cc
napi_value ThrownBy(napi_env env, napi_callback_info info);

// function_call.cc
napi_value Answer(napi_env env, napi_callback_info info);
napi_value Postpone(napi_env env, napi_callback_info info);
// Mutex held, channel closed: nobody will answer.
void RefuseRequests(Channel* channel);

}  // namespace python
}  // namespace dlpack

#endif  // DLPACK_NODE_PYTHON_CHANNEL_H_
