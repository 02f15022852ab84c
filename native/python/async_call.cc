// Calls on a thread of the pool. Everything they need is taken along, everything they leave is carried to the
// JavaScript thread that waits.
#include <stdlib.h>

#include <atomic>
#include <initializer_list>
#include <new>

#include "../forked.h"
#include "carried.h"
#include "channel.h"
#include "pool.h"
#include "raised.h"

namespace dlpack {
namespace python {

struct AsyncCall {
  Task task;
  Message message;
  Channel* channel;
  AsyncCall* next;  // of those that JavaScript waits for; JavaScript thread
  AsyncCall* previous;
  uint32_t number;  // of the promise
  Object* run;      // of a copy of the caller's context variables
  Object* arguments;
  Object* keywords;
  std::atomic<bool> is_abandoned;  // written by the JavaScript thread
  bool has_failed;
  Carried result;  // or the exception
  Carried type_name;
  Carried text;
  Carried traceback;
};

static AsyncCall* OfTask(Task* task) { return reinterpret_cast<AsyncCall*>(task); }
static AsyncCall* OfMessage(Message* message) {
  return reinterpret_cast<AsyncCall*>(reinterpret_cast<char*>(message) - offsetof(AsyncCall, message));
}

// Any thread, no GIL needed.
static void FreeCall(AsyncCall* call) {
  for (Carried* value : {&call->result, &call->type_name, &call->text, &call->traceback}) DropCarried(value);
  for (Object* object : {call->run, call->arguments, call->keywords}) {
    if (object != nullptr) DeferDecRef(object);
  }
  free(call);
}

static void DropCall(Message* message) { FreeCall(OfMessage(message)); }

// Takes a call off the list of those that JavaScript waits for. JavaScript thread.
static void Unlist(AsyncCall* call) {
  Channel* channel = call->channel;
  *(call->previous == nullptr ? &channel->calls : &call->previous->next) = call->next;
  if (call->next != nullptr) call->next->previous = call->previous;
  if (channel->calls == nullptr) KeepRunning(channel, false);
}

static void List(AsyncCall* call) {
  Channel* channel = call->channel;
  call->next = channel->calls;
  if (call->next != nullptr) call->next->previous = call;
  if (channel->calls == nullptr) KeepRunning(channel, true);
  channel->calls = call;
}

// Type, message and traceback of the error for a result that JavaScript has no room for.
static size_t DescribeTooLong(napi_env env, napi_value values[6]) {
  static const char kMessage[] =
      "The result is too long for JavaScript, or there is no memory for it; take parts of it";
  napi_create_string_utf8(env, "OverflowError", NAPI_AUTO_LENGTH, &values[3]);
  napi_create_string_utf8(env, kMessage, NAPI_AUTO_LENGTH, &values[4]);
  napi_create_string_utf8(env, "", 0, &values[5]);
  return 6;
}

// JavaScript thread, from the event loop.
static void SettleCall(Channel* channel, Message* message) {
  AsyncCall* call = OfMessage(message);
  if (!call->is_abandoned.load(std::memory_order_relaxed)) {
    Unlist(call);
    napi_env env = channel->env;
    // The number of the promise and the value; after an exception, type, message and traceback.
    napi_value values[7];
    napi_create_uint32(env, call->number, &values[0]);
    size_t count = 3;
    if (!Deliver(env, channel->objects, &call->result, &values[1]) && !call->has_failed) {
      count = DescribeTooLong(env, values);
    } else if (call->has_failed) {
      for (Carried* text : {&call->type_name, &call->text, &call->traceback}) {
        Deliver(env, channel->objects, text, &values[count]);  // its kind gives way to the next text
        values[count] = values[count + 1];
        ++count;
      }
    }
    CallJavaScript(channel, channel->on_settle, count, values, nullptr);
  }
  FreeCall(call);
}

// A thread of the pool, GIL held.
static void RunCall(Task* task) {
  AsyncCall* call = OfTask(task);
  call->channel->mutex.Acquire();
  const bool is_closed = call->channel->is_closed;
  call->channel->mutex.Release();
  if (is_closed || call->is_abandoned.load(std::memory_order_relaxed)) {
    FreeCall(call);  // nobody waits, and nothing has begun
    return;
  }
  Object* result = api.PyObject_Call(call->run, call->arguments, call->keywords);
  if (is_forked) LeaveForked();
  call->has_failed = result == nullptr;
  {
    // Dropped before JavaScript learns of the end, so that nothing which only the call kept is alive then.
    SavedError error;
    for (Object** object : {&call->run, &call->arguments, &call->keywords}) {
      if (*object != nullptr) api.Py_DecRef(*object);
      *object = nullptr;
    }
  }
  if (result != nullptr) {
    Carry(result, &call->result);
  } else {
    Raised raised;
    CarryText(raised.type_name.get(), &call->type_name);
    CarryText(raised.message.get(), &call->text);
    CarryText(raised.traceback.get(), &call->traceback);
    if (raised.exception) Carry(raised.exception.take(), &call->result);
  }
  if (!Post(call->channel, &call->message)) FreeCall(call);
}

// callAsync(tuple, dict, number): a tuple of the function and its arguments, a dict of keyword arguments or 0, both
// taken over, and the number of the promise. Fails only before the call begins.
napi_value CallAsync(napi_env env, napi_callback_info info) {
  napi_value values[3];
  Channel* channel = ChannelOf(env, info, values);
  Objects* objects = channel->objects;
  objects->frame->failed = 0;
  Gil gil;
  Ref arguments(DropObject(objects, NumberIn(env, values[0])));
  Ref keywords(DropObject(objects, NumberIn(env, values[1])));
  void* block = malloc(sizeof(AsyncCall));
  Ref module(block == nullptr || !arguments ? nullptr : api.PyImport_ImportModule("contextvars"));
  Ref copy_context(module ? api.PyObject_GetAttrString(module.get(), "copy_context") : nullptr);
  Ref context(copy_context ? api.PyObject_CallObject(copy_context.get(), nullptr) : nullptr);
  Ref run(context ? api.PyObject_GetAttrString(context.get(), "run") : nullptr);
  if (run) {
    AsyncCall* call = new (block) AsyncCall();
    call->task.run = RunCall;
    call->message.deliver = SettleCall;
    call->message.drop = DropCall;
    call->channel = channel;
    call->number = NumberIn(env, values[2]);
    call->run = run.take();
    call->arguments = arguments.take();
    call->keywords = keywords.take();
    if (Submit(&call->task)) {
      List(call);
      return nullptr;
    }
    FreeCall(call);
    api.PyErr_SetString(api.PyExc_RuntimeError, "Expected a thread for an asynchronous call but none could be started");
  } else {
    free(block);
    if (!api.PyErr_Occurred()) api.PyErr_SetString(api.PyExc_RuntimeError, "Out of memory for an asynchronous call");
  }
  return TakeException(env, objects);
}

// abandon(number): nobody waits for the call any more. It does not begin, if it has not yet.
napi_value Abandon(napi_env env, napi_callback_info info) {
  napi_value values[1];
  Channel* channel = ChannelOf(env, info, values);
  const uint32_t number = NumberIn(env, values[0]);
  AsyncCall* call = channel->calls;
  while (call != nullptr && call->number != number) call = call->next;
  if (call == nullptr) return nullptr;
  Unlist(call);
  call->is_abandoned.store(true, std::memory_order_relaxed);
  return nullptr;
}

// leave(status): the process ends after this.
napi_value Leave(napi_env env, napi_callback_info info) {
  napi_value values[1];
  ChannelOf(env, info, values);
  PrepareExit(static_cast<int>(NumberIn(env, values[0])));
  return nullptr;
}

}  // namespace python
}  // namespace dlpack
