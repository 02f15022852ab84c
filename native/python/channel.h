// Channel: carries messages from any thread to the JavaScript thread of one environment. Finished calls and calls of
// JavaScript functions queue here, and the event loop delivers them. It outlives its environment, because threads and
// Python objects refer to it.
#pragma once

#include "../exports.h"
#include "../platform/platform.h"
#include "values.h"

namespace dlpack::python {

struct AsyncCall;
struct Channel;
struct FunctionRequest;

struct Message {
  Message* next;
  void (*deliver)(Channel* channel, Message* self);  // JavaScript thread
  void (*drop)(Message* self);                       // if the environment ends first; its thread, mutex held
};

struct Channel {
  platform::Mutex mutex;  // guards the next six
  bool is_closed;
  napi_threadsafe_function wake;
  Message* first;
  Message* last;
  FunctionRequest* requests;  // calls of JavaScript functions without an answer
  uint32_t last_request;
  // JavaScript thread only.
  napi_env env;
  Objects* objects;
  napi_ref on_call;
  napi_ref on_settle;
  AsyncCall* calls;    // calls that JavaScript waits for
  Object* functions;   // a dict of weak references to callables, by function number; guarded by the GIL
  const void* thread;  // an address that identifies the JavaScript thread; any thread may compare it
};

// Makes the channel of an environment and adds its functions to `target`. `options` has the JavaScript functions
// `onCall` and `onSettle`, and `threads`, the limit of the pool. Returns NULL, or the error message. JavaScript thread.
const char* OpenChannel(napi_env env, Objects* objects, napi_value options, napi_value target);

// Queues a message; false when the environment has ended. Any thread.
bool Post(Channel* channel, Message* message);

// The same with the mutex held and the channel open. Any thread.
void PostLocked(Channel* channel, Message* message);

// Sets whether the process keeps running for asynchronous calls. JavaScript thread.
void KeepRunning(Channel* channel, bool keep);

// Calls one of the two JavaScript functions. False when it threw, which happens only when the stack is full or the
// environment ends. No exception is pending afterwards. JavaScript thread, with a handle scope.
bool CallJavaScript(Channel* channel, napi_ref function, size_t count, const napi_value* values, napi_value* result);

// True on the JavaScript thread of this environment, while it lasts.
bool IsOwnThread(const Channel* channel);

// True on the JavaScript thread of any environment, and after its end.
bool IsJavaScriptThread();

// The channel of a function that JavaScript called, and its first `n` arguments.
template <size_t n>
Channel* ChannelOf(napi_env env, napi_callback_info info, napi_value (&values)[n]) {
  return DataOf<Channel>(env, info, values, n);
}

// async_call.cc
// Starts an asynchronous call. The first cell is the callable, the last cells are the names and values of
// keywords. Does not wait for the GIL if a snapshot exists. Fails only before the call begins. JavaScript thread.
napi_value StartCall(napi_env env, Objects* self, PerformRequest* request, Spill* spill);
// The number of the asynchronous call of this channel that runs on this thread, or 0.
uint32_t CurrentCall(const Channel* channel);
// An operation may have changed context variables, so the snapshot of an instance that has one is dropped. While
// asynchronous calls run, a new snapshot is taken at once, so that the next call does not wait for the GIL. GIL held.
void RenewSnapshot(Objects* self);

// function_call.cc
// Refuses all requests, because a closed channel gets no answers. Mutex held.
void RefuseRequests(Channel* channel);

// The functions of a channel for JavaScript.
napi_value Abandon(napi_env env, napi_callback_info info);
napi_value Leave(napi_env env, napi_callback_info info);
napi_value MakeSettler(napi_env env, napi_callback_info info);
napi_value ThrownBy(napi_env env, napi_callback_info info);
napi_value Answer(napi_env env, napi_callback_info info);
napi_value Postpone(napi_env env, napi_callback_info info);

}  // namespace dlpack::python
