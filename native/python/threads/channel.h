// Channel: carries messages from any thread to the JavaScript thread of one environment. Finished calls and calls of
// JavaScript functions queue here, and the event loop delivers them.
#pragma once

#include "../values/cells.h"

namespace dlpack::python {

struct Message {
  Message* next;
  void (*deliver)(Objects* objects, Message* self);  // JavaScript thread
  void (*drop)(Message* self);                       // if it cannot be delivered; the same thread
};

// Opens the channel. Returns NULL, or the error message. JavaScript thread.
const char* OpenChannel(Objects* objects);

// Refuses the requests of other threads, now and later, because the event loop turns no more. JavaScript thread.
void StopAnswering(Objects* objects);
void StopAnsweringHere();  // for all instances of this thread, in operations.cc

// Drops all messages and refuses the requests. JavaScript thread, before Node-API destroys the thread-safe function.
void CloseChannel(Objects* objects);

// Queues a message; false when the environment has ended. Any thread.
bool Post(Objects* objects, Message* message);

// The same with the mutex held and the channel open. Any thread.
void PostLocked(Objects* objects, Message* message);

// Sets whether the process keeps running for asynchronous calls. JavaScript thread.
void KeepRunning(Objects* objects, bool keep);

// Calls one of the two JavaScript functions. False when it threw, which happens only when the stack is full or the
// environment ends. No exception is pending afterwards. JavaScript thread, with a handle scope.
bool CallJavaScript(Objects* objects, napi_ref function, size_t count, const napi_value* values, napi_value* result);

// True on the JavaScript thread of this environment, while it lasts.
bool IsOwnThread(const Objects* objects);

// True on the JavaScript thread of any environment, and after its end.
bool IsJavaScriptThread();

// async.cc
// Starts an asynchronous call. The first cell is the callable, the last cells are the names and values of
// keywords. Does not wait for the GIL if a snapshot exists. Fails only before the call begins. JavaScript thread.
napi_value StartCall(napi_env env, Objects* self, PerformRequest* request, Spill* spill);
// The number of the asynchronous call of this channel that runs on this thread, or 0.
uint32_t CurrentCall(const Objects* objects);
// An operation may have changed context variables, so the snapshot of an instance that has one is dropped. While
// asynchronous calls run, and for some operations after the last one, a new snapshot is taken at once, so that the next
// call does not wait for the GIL. GIL held.
void RenewSnapshot(Objects* self);

// Functions for JavaScript, here and below; src/python/binding.ts says what they do.
void Abandon(Objects* self, napi_env, uint32_t number);
uint32_t MakeSettler(Objects* self, napi_env, uint32_t number);

// callbacks.cc
void Answer(Objects* self, napi_env, uint32_t id, uint32_t handle, bool has_failed);
bool Postpone(Objects* self, napi_env, uint32_t id);
// Refuses all requests, because a closed channel gets no answers. Mutex held.
void RefuseRequests(Objects* objects);
// True for a request of another thread to call a JavaScript function.
bool IsRequest(const Message* message);

// calls/functions.cc
uint32_t ThrownBy(Objects* self, napi_env, uint32_t handle);

// prelude.cc
void Leave(Objects* self, napi_env, uint32_t status, uint32_t milliseconds);

}  // namespace dlpack::python
