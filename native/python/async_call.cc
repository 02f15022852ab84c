// Asynchronous calls, which run on threads of the pool. Their arguments are staged before, and their results are
// carried to the JavaScript thread.
#include <stdlib.h>

#include <atomic>
#include <initializer_list>
#include <new>

#include "../forked.h"
#include "../signals.h"
#include "async_call.h"
#include "carried.h"
#include "channel.h"
#include "pool.h"
#include "prelude.h"
#include "raised.h"
#include "snapshot.h"
#include "staged.h"

namespace dlpack::python {

struct AsyncCall {
  Task task;
  Message message;
  Channel* channel;
  AsyncCall* next;  // in the list of calls that JavaScript waits for; JavaScript thread
  AsyncCall* previous;
  uint32_t number;     // of the promise
  Snapshot* snapshot;  // the caller's context variables
  Staged* values;      // the callable, its arguments, names and values of keywords
  uint32_t count;
  uint32_t keywords;               // values
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
static void DropValues(AsyncCall* call) {
  for (uint32_t i = 0; i < call->count; ++i) DropStaged(&call->values[i]);
  free(call->values);
  call->values = nullptr;
  call->count = 0;
  ReleaseSnapshot(call->snapshot);
  call->snapshot = nullptr;
}

void FreeCall(AsyncCall* call) {
  for (Carried* value : {&call->result, &call->type_name, &call->text, &call->traceback}) DropCarried(value);
  DropValues(call);
  free(call);
}

static void DropCall(Message* message) { FreeCall(OfMessage(message)); }

// Takes a call off the list of calls that JavaScript waits for. JavaScript thread.
static void Unlist(AsyncCall* call) {
  Channel* channel = call->channel;
  *(call->previous == nullptr ? &channel->calls : &call->previous->next) = call->next;
  if (call->next != nullptr) call->next->previous = call->previous;
  if (channel->calls == nullptr) KeepRunning(channel, false);
}

void ListCall(AsyncCall* call) {
  Channel* channel = call->channel;
  call->next = channel->calls;
  if (call->next != nullptr) call->next->previous = call;
  if (channel->calls == nullptr) KeepRunning(channel, true);
  channel->calls = call;
}

// Type, message and traceback of the error for a result that is too large for JavaScript.
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
  if (!call->is_abandoned.load(std::memory_order_relaxed)) Unlist(call);
  napi_env env = channel->env;
  // The number of the promise and the value; after an exception, type, message and traceback.
  napi_value values[7];
  napi_create_uint32(env, call->number, &values[0]);
  size_t count = 3;
  if (!Deliver(env, channel->objects, &call->result, &values[1]) && !call->has_failed) {
    count = DescribeTooLong(env, values);
  } else if (call->has_failed) {
    for (Carried* text : {&call->type_name, &call->text, &call->traceback}) {
      Deliver(env, channel->objects, text, &values[count]);  // writes the kind and the text; only the text is kept
      values[count] = values[count + 1];
      ++count;
    }
  }
  CallJavaScript(channel, channel->on_settle, count, values, nullptr);
  FreeCall(call);
}

AsyncCall* NewCall(Channel* channel, uint32_t number) {
  void* block = malloc(sizeof(AsyncCall));
  if (block == nullptr) return nullptr;
  AsyncCall* call = new (block) AsyncCall();
  call->message.deliver = SettleCall;
  call->message.drop = DropCall;
  call->channel = channel;
  call->number = number;
  return call;
}

void CarryResult(AsyncCall* call, Object* value) { Carry(value, &call->result); }

void CarryRaised(AsyncCall* call) {
  Raised raised;
  call->has_failed = true;
  CarryText(raised.type_name.get(), &call->type_name);
  CarryText(raised.message.get(), &call->text);
  CarryText(raised.traceback.get(), &call->traceback);
  if (raised.exception) Carry(raised.exception.take(), &call->result);
}

void PostCall(AsyncCall* call) {
  if (!Post(call->channel, &call->message)) FreeCall(call);
}

// Calls `run` of the snapshot with the staged values. A new reference, or NULL with an exception set. GIL held.
static Object* CallStaged(AsyncCall* call) {
  const uint32_t positional = call->count - call->keywords;
  Ref run(RunnerOf(*call->snapshot));
  Ref arguments(run ? api.PyTuple_New(positional) : nullptr);
  Ref keywords(arguments && call->keywords != 0 ? api.PyDict_New() : nullptr);
  if (!arguments || (call->keywords != 0 && !keywords)) return nullptr;
  for (uint32_t i = 0; i < positional; ++i) {
    Object* value = Unstage(call->channel, &call->values[i]);
    if (value == nullptr) return nullptr;
    api.PyTuple_SetItem(arguments.get(), i, value);
  }
  for (uint32_t i = positional; i + 1 < call->count; i += 2) {
    Ref name(Unstage(call->channel, &call->values[i]));
    Ref value(name ? Unstage(call->channel, &call->values[i + 1]) : nullptr);
    if (!value || api.PyDict_SetItem(keywords.get(), name.get(), value.get()) != 0) return nullptr;
  }
  Object* result = api.PyObject_Call(run.get(), arguments.get(), keywords.get());
  SavedError error;  // dropping these may run Python code
  for (Ref* dropped : {&run, &arguments, &keywords}) dropped->reset(nullptr);
  return result;
}

static thread_local AsyncCall* current_call;

uint32_t CurrentCall(const Channel* channel) {
  return current_call != nullptr && current_call->channel == channel ? current_call->number : 0;
}

// A thread of the pool, GIL held.
static void RunCall(Task* task) {
  AsyncCall* call = OfTask(task);
  call->channel->mutex.Acquire();
  const bool is_closed = call->channel->is_closed;
  call->channel->mutex.Release();
  if (is_closed) return FreeCall(call);
  if (!call->is_abandoned.load(std::memory_order_relaxed)) {
    for (uint32_t i = 0; i < call->count; ++i) OwnObjects(&call->values[i]);
    current_call = call;
    Object* result = CallStaged(call);
    current_call = nullptr;
    if (is_forked) LeaveForked();
    KeepSignals();
    {
      // Dropped before JavaScript learns that the call ended, so that the call no longer keeps any object alive then.
      SavedError error;
      DropValues(call);
    }
    if (result != nullptr) {
      CarryResult(call, result);
    } else {
      CarryRaised(call);
    }
  }
  PostCall(call);
}

static const char kNoMemory[] = "Out of memory for an asynchronous call";

// Copies the request. NULL when out of memory, or when a cell refers to a released object. No GIL needed.
static AsyncCall* StageCall(Objects* self, PerformRequest* request, Spill* spill) {
  const Cells cells = CellsBehind(self->instance, request + 1, request->count);
  AsyncCall* call = NewCall(self->channel, request->promise);
  if (call == nullptr) return nullptr;
  call->task.run = RunCall;
  call->keywords = request->keywords <= cells.count / 2 ? 2 * request->keywords : 0;
  call->snapshot = RetainSnapshot(self->snapshot);
  call->values = static_cast<Staged*>(calloc(cells.count + 1, sizeof(Staged)));
  bool good = call->values != nullptr && cells.count > call->keywords;
  for (uint32_t i = 0; good && i < cells.count; ++i) {
    good = Stage(self, &cells.at[i], spill, &call->values[i]);
    ++call->count;
  }
  if (good) return call;
  FreeCall(call);
  return nullptr;
}

napi_value StartCall(napi_env env, Objects* self, PerformRequest* request, Spill* spill) {
  Outcome* outcome = reinterpret_cast<Outcome*>(request);
  outcome->failed = 0;
  if (self->snapshot == nullptr) {
    // Without a snapshot no asynchronous call of this instance is running, so this does not wait for one of our calls.
    Gil gil;
    self->snapshot = TakeSnapshot();
    if (self->snapshot == nullptr) return TakeException(env, self, outcome);
  }
  AsyncCall* call = StageCall(self, request, spill);
  if (call != nullptr && Submit(&call->task)) {
    ListCall(call);
    return nullptr;
  }
  Gil gil;
  api.PyErr_SetString(
      api.PyExc_RuntimeError,
      call == nullptr ? kNoMemory : "Expected a thread for an asynchronous call but none could be started");
  if (call != nullptr) FreeCall(call);
  return TakeException(env, self, outcome);
}

// abandon(number): JavaScript no longer waits for the call. A call that has not started yet does not start.
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

// leave(status, milliseconds): runs Python's exit functions, for at most this time. The process ends after this.
napi_value Leave(napi_env env, napi_callback_info info) {
  napi_value values[2];
  ChannelOf(env, info, values);
  const int status = static_cast<int>(NumberIn(env, values[0]));
  RunExitFunctions(status, NumberIn(env, values[1]));
  PrepareExit(status);
  return nullptr;
}

}  // namespace dlpack::python
