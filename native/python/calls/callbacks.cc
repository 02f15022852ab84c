// Calls of JavaScript functions from Python code. The JavaScript thread calls directly; every other thread sends the
// call through the channel. A thread releases the GIL while it waits here.
#include <stdio.h>
#include <stdlib.h>

#include <new>

#include "../../forked.h"
#include "../objects/calls.h"
#include "../threads/carried.h"
#include "../threads/pool.h"
#include "functions.h"

namespace dlpack::python {

static const char kEnding[] =
    "Expected a running JavaScript environment for this function but it is ending, or its stack is full";

static const char kEnded[] =
    "Expected a running JavaScript environment for this function but its worker or program has ended";

static const char kTooLong[] =
    "Expected arguments that JavaScript has room for but one is too long; pass parts of it to this function";

static const uint32_t kMaxArguments = 120;

struct FunctionRequest : Message {
  FunctionRequest* next_request;  // the next request without an answer
  Objects* objects;
  uint32_t id;  // 0: JavaScript returns the answer
  uint32_t function;
  uint32_t call;                  // the asynchronous call that this request is part of, or 0
  Carried values[kMaxArguments];  // the arguments, positional first, then names and values
  uint32_t count;
  uint32_t keywords;
  platform::Condition answered;
  bool is_answered;
  bool is_of_pool;
  bool is_postponed;
  bool has_failed;
  Object* result;       // or the exception; NULL if `problem` applies
  const char* problem;  // static text
};

// GIL held.
static bool ReadArguments(Object* positional, Object* keywords, FunctionRequest* out) {
  const ptrdiff_t count = api.PyTuple_Size(positional);
  const ptrdiff_t pairs = keywords == nullptr ? 0 : api.PyDict_Size(keywords);
  if (count + 2 * pairs > kMaxArguments) {
    char text[80];
    snprintf(text, sizeof(text), "Expected at most %u arguments for a JavaScript function", kMaxArguments);
    return Raise(api.PyExc_TypeError, text);
  }
  out->count = 0;
  for (ptrdiff_t i = 0; i < count; ++i) {
    Carry(NewRef(api.PyTuple_GetItem(positional, i)), &out->values[out->count++]);
  }
  ptrdiff_t at = 0;
  Object *name, *value;
  while (pairs > 0 && api.PyDict_Next(keywords, &at, &name, &value)) {
    CarryText(name, &out->values[out->count++]);
    Carry(NewRef(value), &out->values[out->count++]);
  }
  out->keywords = static_cast<uint32_t>(pairs);
  return true;
}

static void DropArguments(FunctionRequest* request) {
  for (uint32_t i = 0; i < request->count; ++i) DropCarried(&request->values[i]);
}

// Hands a call to JavaScript: the numbers of the function, of the request and of the surrounding asynchronous call, how
// many arguments are keywords, then the kind and the value of each argument. Returns NULL, or a static text for the
// error. JavaScript thread, without the GIL.
static const char* Dispatch(FunctionRequest* request, napi_value* result) {
  Objects* objects = request->objects;
  napi_env env = objects->instance->env;
  napi_value values[4 + 2 * kMaxArguments];
  size_t count = 0;
  for (uint32_t number : {request->function, request->id, request->call, request->keywords})
    napi_create_uint32(env, number, &values[count++]);
  bool has_room = true;
  for (uint32_t i = 0; i < request->count; ++i, count += 2) {
    has_room = Deliver(env, objects, &request->values[i], &values[count]) && has_room;
  }
  WireHeader* header = HeaderOf(objects->instance);
  const uint32_t outer = header->taken;  // of a call around this call
  header->taken = 0;
  const bool good = has_room && CallJavaScript(objects, objects->on_call, count, values, result);
  // JavaScript may have found its stack full before it took all of them.
  for (size_t at = 4 + 2 * size_t{header->taken}; at < count; at += 2) TakeBack(env, objects, &values[at]);
  header->taken = outer;
  return good ? nullptr : has_room ? kEnding : kTooLong;
}

// Raises the error for a call that JavaScript did not answer. GIL held.
static Failure RaiseProblem(const char* problem) {
  return Raise(problem == kTooLong ? api.PyExc_OverflowError : api.PyExc_RuntimeError, problem);
}

// Raises an exception; for a str, a RuntimeError with that text. Takes over the reference. GIL held.
static Object* RaiseObject(Object* exception) {
  const Ref value(exception);
  const bool is_text = TypeOf(value.get()) == api.PyUnicode_Type;
  Object* type = is_text ? api.PyExc_RuntimeError : TypeOf(value.get());
  if (!api.PyType_IsSubtype(type, api.PyExc_BaseException))
    return Raise(api.PyExc_TypeError, "Expected a Python exception in the PythonError that JavaScript threw");
  api.PyErr_SetObject(type, value.get());
  return nullptr;
}

// JavaScript thread, GIL held; released while JavaScript runs. Another operation may be in progress on this thread,
// because Python can run code whenever it allocates or frees an object. That operation's slot is safe: JavaScript takes
// slots above it.
static Object* CallHere(FunctionRequest* request) {
  napi_env env = request->objects->instance->env;
  napi_handle_scope scope;
  if (napi_open_handle_scope(env, &scope) != napi_ok) {
    DropArguments(request);
    return Raise(api.PyExc_RuntimeError, kEnding);
  }
  Object* thread = api.PyEval_SaveThread();
  napi_value answer = nullptr;
  double outcome = 0;
  const char* problem = Dispatch(request, &answer);
  if (problem == nullptr && napi_get_value_double(env, answer, &outcome) != napi_ok) problem = kEnding;
  napi_close_handle_scope(env, scope);
  api.PyEval_RestoreThread(thread);
  if (problem != nullptr) return RaiseProblem(problem);
  // A handle, negative for an exception.
  Object* value = DropObject(request->objects, static_cast<uint32_t>(outcome < 0 ? -outcome : outcome));
  if (value == nullptr) return RaiseProblem(kEnding);
  return outcome < 0 ? RaiseObject(value) : value;
}

// Mutex held, no GIL needed. Once the mutex is released, the waiting thread may free the request.
static void Fulfil(FunctionRequest* request, Object* result, bool has_failed) {
  FunctionRequest** at = &request->objects->requests;
  while (*at != request) at = &(*at)->next_request;
  *at = request->next_request;
  request->result = result;
  request->has_failed = has_failed;
  request->is_answered = true;
  request->answered.Signal();
}

// The request with this number; NULL when no such request waits. Mutex held.
static FunctionRequest* FindRequest(Objects* objects, uint32_t id) {
  FunctionRequest* request = objects->requests;
  while (request != nullptr && request->id != id) request = request->next_request;
  return request;
}

// Answers the request with this number. False, without taking the reference, if no such request waits. Any thread.
static bool FulfilById(Objects* objects, uint32_t id, Object* result, bool has_failed, const char* problem = kEnding) {
  platform::MutexScope scope(&objects->mutex);
  FunctionRequest* request = FindRequest(objects, id);
  if (request == nullptr) return false;
  request->problem = problem;
  Fulfil(request, result, has_failed);
  return true;
}

void RefuseRequests(Objects* objects) {
  while (objects->requests != nullptr) Fulfil(objects->requests, nullptr, true);
}

// JavaScript thread, from the event loop. The request belongs to the waiting thread and is valid until it is answered.
static void DeliverRequest(Objects* objects, Message* message) {
  auto* request = static_cast<FunctionRequest*>(message);
  const uint32_t id = request->id;
  const char* problem = Dispatch(request, nullptr);
  if (problem != nullptr) FulfilById(objects, id, nullptr, true, problem);
}

bool IsRequest(const Message* message) { return message->deliver == DeliverRequest; }

// Any other thread, GIL held; released while the thread waits.
static Object* CallThere(FunctionRequest* request) {
  Objects* objects = request->objects;
  request->deliver = DeliverRequest;
  request->drop = [](Message* message) {  // the event loop has no room for a scope
    auto* request = static_cast<FunctionRequest*>(message);
    FulfilById(request->objects, request->id, nullptr, true, "out of memory");
  };
  request->call = CurrentCall(objects);
  request->is_of_pool = IsPoolThread();
  request->is_answered = request->is_postponed = false;
  request->problem = kEnding;
  request->result = nullptr;
  new (&request->answered) platform::Condition();
  Object* thread = api.PyEval_SaveThread();
  objects->mutex.Acquire();
  if (!objects->is_closed && !objects->is_leaving) {
    request->id = ++objects->last_request;
    request->next_request = objects->requests;
    objects->requests = request;
    PostLocked(objects, request);
    while (!request->is_answered) request->answered.Wait(&objects->mutex);
  } else if (objects->is_closed) {
    request->problem = kEnded;
  }
  objects->mutex.Release();
  if (request->is_postponed) EndPoolWait();
  api.PyEval_RestoreThread(thread);
  DropArguments(request);  // delivered values are empty already
  if (request->result == nullptr) return RaiseProblem(request->problem);
  return request->has_failed ? RaiseObject(request->result) : request->result;
}

// Any thread.
static bool HasEnded(Objects* objects) {
  platform::MutexScope scope(&objects->mutex);
  return objects->is_closed;
}

Object* CallFunction(Object* self, Object* positional, Object* keywords) {
  const FunctionBody* body = FunctionBodyOf(self);
  Objects* objects = body->objects;
  if (is_forked) {
    return Raise(api.PyExc_RuntimeError,
                 "Expected a call in the process that made this JavaScript function but received one in a process "
                 "that was forked off from it, where there is no JavaScript; call it in the parent");
  }
  const bool is_own = IsOwnThread(objects);
  if (!is_own && IsJavaScriptThread()) {
    if (HasEnded(objects)) return Raise(api.PyExc_RuntimeError, kEnded);
    // Two event loops that wait for each other would deadlock.
    return Raise(api.PyExc_RuntimeError,
                 "Expected a call on the JavaScript thread that made this function, or on a Python thread, but "
                 "received one on another JavaScript thread; use callAsync there");
  }
  FunctionRequest* request = static_cast<FunctionRequest*>(malloc(sizeof(FunctionRequest)));
  if (request == nullptr) return Raise(api.PyExc_RuntimeError, "Out of memory for a call");
  request->objects = objects;
  request->function = body->number;
  request->id = request->call = 0;
  Object* result = nullptr;
  if (ReadArguments(positional, keywords, request)) result = is_own ? CallHere(request) : CallThere(request);
  free(request);
  return result;
}

void Answer(Objects* self, napi_env, uint32_t id, uint32_t handle, bool has_failed) {
  Object* result = DropObject(self, handle);
  if (!FulfilById(self, id, result, has_failed)) DeferDecRef(result);
}

bool Postpone(Objects* self, napi_env, uint32_t id) {
  platform::MutexScope scope(&self->mutex);
  FunctionRequest* request = FindRequest(self, id);
  if (request == nullptr || !request->is_of_pool) return request != nullptr;
  return request->is_postponed = BeginPoolWait();
}

}  // namespace dlpack::python
