// JavaScript promises that Python settles: by an asynchronous call on a thread of the pool, or by a settler. The
// arguments of a call are staged before, and results are carried to the JavaScript thread.
#include <stdlib.h>

#include <atomic>
#include <new>

#include "../../forked.h"
#include "../../signals.h"
#include "../calls/operation_scope.h"
#include "../interpreter/prelude.h"
#include "../objects/calls.h"
#include "channel.h"
#include "pool.h"
#include "staged.h"

namespace dlpack::python {

struct AsyncCall : Task, Message {
  Objects* objects;
  AsyncCall* next_call;  // in the list of calls that JavaScript waits for; JavaScript thread
  AsyncCall* previous_call;
  uint32_t number;    // of the promise
  Storage* snapshot;  // the caller's context variables
  Staged* values;     // the callable, its arguments, names and values of keywords
  uint32_t count;
  uint32_t keywords;                 // values
  bool (*carry)(Object*, Carried*);  // makes the outcome of the result
  std::atomic<bool> is_abandoned;    // written by the JavaScript thread
  bool has_failed;
  Carried outcome[4];  // the result; or the exception, its type, message and traceback
};

namespace {

// A snapshot: the context variables of this thread, as they are now, in a contextvars.Context that is never entered;
// and the modes of PyTorch, or None. It is a storage, because calls share it without the GIL. False with an exception
// set. GIL held.
bool TakeSnapshot(Objects* self) {
  Ref state(CallPrelude("take_snapshot"));
  if (!state) return false;
  const auto drop = [](Storage* self) {
    DeferDecRef(static_cast<Object*>(self->owner));
    FreeStorage(self);
  };
  Storage* snapshot = WrapStorage(nullptr, 0, drop, state.get(), 0);
  if (snapshot == nullptr) return Raise(api.PyExc_RuntimeError, "Out of memory for an asynchronous call");
  state.take();
  if (self->snapshot != nullptr) ReleaseStorage(self->snapshot);  // the import may have called JavaScript
  self->snapshot = snapshot;
  return true;
}

// Any thread, no GIL needed.
void DropValues(AsyncCall* call) {
  for (uint32_t i = 0; i < call->count; ++i) DropStaged(&call->values[i]);
  free(call->values);
  call->values = nullptr;
  call->count = 0;
  if (call->snapshot != nullptr) ReleaseStorage(call->snapshot);
  call->snapshot = nullptr;
}

// Frees a call that is not in the list. Any thread, no GIL needed.
void FreeCall(AsyncCall* call) {
  for (Carried& value : call->outcome) DropCarried(&value);
  DropValues(call);
  free(call);
}

// Adds a call to the list of calls that JavaScript waits for, which keeps the process alive. JavaScript thread.
void List(AsyncCall* call) {
  Objects* objects = call->objects;
  call->next_call = objects->calls;
  if (call->next_call != nullptr) call->next_call->previous_call = call;
  if (objects->calls == nullptr) KeepRunning(objects, true);
  objects->calls = call;
}

// JavaScript thread.
void Unlist(AsyncCall* call) {
  Objects* objects = call->objects;
  *(call->previous_call == nullptr ? &objects->calls : &call->previous_call->next_call) = call->next_call;
  if (call->next_call != nullptr) call->next_call->previous_call = call->previous_call;
  if (objects->calls == nullptr) KeepRunning(objects, false);
}

// JavaScript thread, from the event loop.
void SettleCall(Objects* objects, Message* message) {
  AsyncCall* call = static_cast<AsyncCall*>(message);
  if (!call->is_abandoned.load(std::memory_order_relaxed)) Unlist(call);
  napi_env env = objects->instance->env;
  // The number of the promise and the value; after an exception, type, message and traceback.
  napi_value values[7];
  napi_create_uint32(env, call->number, &values[0]);
  size_t count = 3;
  if (!Deliver(env, objects, &call->outcome[0], &values[1]) && !call->has_failed) {
    values[count++] = NewText(env, "OverflowError");
    values[count++] =
        NewText(env, "The result is too long for JavaScript, or there is no memory for it; take parts of it");
    values[count++] = NewText(env, "");
  } else if (call->has_failed) {
    for (int i = 1; i < 4; ++i) {
      Deliver(env, objects, &call->outcome[i], &values[count]);  // the kind and the text; only the text is kept
      values[count] = values[count + 1];
      ++count;
    }
  }
  CallJavaScript(objects, objects->on_settle, count, values, nullptr);
  DropDelivered(objects);  // those of an abandoned call
  FreeCall(call);
}

bool CarryObject(Object* object, Carried* out) {
  Carry(object, out);
  return true;
}

// A new call for the promise with this number, without anything to run; NULL when out of memory. Any thread.
AsyncCall* NewCall(Objects* objects, uint32_t number) {
  void* block = malloc(sizeof(AsyncCall));
  if (block == nullptr) return nullptr;
  AsyncCall* call = new (block) AsyncCall();
  call->deliver = SettleCall;
  call->drop = [](Message* message) { FreeCall(static_cast<AsyncCall*>(message)); };
  call->objects = objects;
  call->number = number;
  call->carry = CarryObject;
  return call;
}

// Sends the outcome to JavaScript and takes over the call. Any thread.
void PostCall(AsyncCall* call) {
  if (!Post(call->objects, call)) FreeCall(call);
}

// Settles the promise with a value, whose reference this takes over, or with the current exception for NULL. Any
// thread, GIL held.
void Settle(AsyncCall* call, Object* value) {
  if (value == nullptr || !call->carry(value, &call->outcome[0])) {
    Raised raised;
    call->has_failed = true;
    DropCarried(&call->outcome[0]);
    CarryText(raised.type_name.get(), &call->outcome[1]);
    CarryText(raised.message.get(), &call->outcome[2]);
    CarryText(raised.traceback.get(), &call->outcome[3]);
    if (raised.exception) Carry(raised.exception.take(), &call->outcome[0]);
  }
  PostCall(call);
}

// Calls `run` of a copy of the snapshot with the staged values. A new reference, or NULL with an exception set. GIL
// held.
Object* CallStaged(AsyncCall* call) {
  const uint32_t positional = call->count - call->keywords;
  Object* state = static_cast<Object*>(call->snapshot->owner);
  const auto unstage = [call](ptrdiff_t i) { return Unstage(call->objects, &call->values[i]); };
  Ref copy(api.PyObject_GetAttrString(api.PyTuple_GetItem(state, 0), "copy"));
  Ref context(CallWith(copy.get()));
  Ref run(Attribute(context, "run"));
  Ref arguments(run ? MakeTuple(positional, unstage) : nullptr);
  const bool has_keywords = call->keywords != 0;
  Ref keywords(arguments && has_keywords
                   ? MakeContainer(kDict, call->keywords, [&](uint32_t i) { return unstage(positional + i); })
                   : nullptr);
  if (!arguments || (has_keywords && !keywords)) return nullptr;
  Object* modes = api.PyTuple_GetItem(state, 1);
  const Ref enter(modes == api._Py_NoneStruct ? nullptr : FindPrelude("enter_modes"));
  Ref leave(enter ? api.PyObject_Call(enter.get(), modes, nullptr) : nullptr);
  if (api.PyErr_Occurred()) return nullptr;
  Object* result = api.PyObject_Call(run.get(), arguments.get(), keywords.get());
  SavedError error;  // leaving the modes and dropping these may run Python code
  if (leave) Ref(CallWith(leave.get())).reset(nullptr);
  api.PyErr_Clear();
  for (Ref* dropped : {&leave, &context, &run, &arguments, &keywords}) dropped->reset(nullptr);
  return result;
}

thread_local AsyncCall* current_call;

// A thread of the pool, GIL held.
void RunCall(Task* task) {
  AsyncCall* call = static_cast<AsyncCall*>(task);
  call->objects->mutex.Acquire();
  const bool is_closed = call->objects->is_closed;
  call->objects->mutex.Release();
  if (is_closed) return FreeCall(call);
  if (call->is_abandoned.load(std::memory_order_relaxed)) return PostCall(call);
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
  Settle(call, result);
}

// Copies the request. NULL when out of memory, or when a cell refers to a released object. No GIL needed.
AsyncCall* StageCall(Objects* self, PerformRequest* request, Spill* spill) {
  const Cells cells = CellsBehind(self->instance, request + 1, request->count);
  AsyncCall* call = NewCall(self, request->promise);
  if (call == nullptr) return nullptr;
  call->run = RunCall;
  const Operation operation = static_cast<Operation>(request->operation);
  if (operation == Operation::kCallTensorAsync) call->carry = CarryTensor;
  if (operation == Operation::kCallPartsAsync) call->carry = CarryParts;
  call->keywords = request->keywords <= cells.count / 2 ? 2 * request->keywords : 0;
  RetainStorage(self->snapshot);
  call->snapshot = self->snapshot;
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

const char kSettler[] = "dlpack_settler";

// A settler is a callable that is bound to a capsule, which owns this.
struct Settler {
  std::atomic<AsyncCall*> call;  // NULL once settled
};

// Any thread, GIL held.
AsyncCall* TakeCall(Object* capsule) {
  auto* settler = static_cast<Settler*>(api.PyCapsule_GetPointer(capsule, kSettler));
  return settler == nullptr || is_forked ? nullptr : settler->call.exchange(nullptr, std::memory_order_acq_rel);
}

// Python drops the callable. An exception may be set. Any thread, GIL held.
void DropSettler(Object* capsule) {
  SavedError error;
  AsyncCall* call = TakeCall(capsule);
  if (call != nullptr) Settle(call, Raise(api.PyExc_RuntimeError, "Python dropped this future before it was done"));
  free(api.PyCapsule_GetPointer(capsule, kSettler));
}

// settle(failed, value): the value is the exception if it failed. Any thread, GIL held.
Object* CallSettler(Object* capsule, Object* arguments) {
  if (api.PyTuple_Size(arguments) != 2) return Raise(api.PyExc_TypeError, "Expected settle(failed, value)");
  AsyncCall* call = TakeCall(capsule);
  if (call == nullptr) return None();
  Object* value = api.PyTuple_GetItem(arguments, 1);
  const bool has_failed = api.PyTuple_GetItem(arguments, 0) == api._Py_TrueStruct;
  if (has_failed) api.PyErr_SetObject(TypeOf(value), value);
  Settle(call, has_failed ? nullptr : NewRef(value));
  return None();
}

}  // namespace

// A loop of synchronous operations should not pay for snapshots, and waits for the GIL in any case.
static const uint32_t kFewOperations = 32;

void RenewSnapshot(Objects* self) {
  ReleaseStorage(self->snapshot);
  self->snapshot = nullptr;
  if (self->calls == nullptr && ++self->operations > kFewOperations) return;
  SavedError error;
  TakeSnapshot(self);
}

uint32_t CurrentCall(const Objects* objects) {
  return current_call != nullptr && current_call->objects == objects ? current_call->number : 0;
}

napi_value StartCall(napi_env env, Objects* self, PerformRequest* request, Spill* spill) {
  Outcome* outcome = reinterpret_cast<Outcome*>(request);
  outcome->failed = 0;
  self->operations = 0;
  if (self->snapshot == nullptr) {
    // Without a snapshot no asynchronous call of this instance is running, so this does not wait for one of our calls.
    Gil gil;
    if (!TakeSnapshot(self)) return TakeException(env, self, outcome);
  }
  AsyncCall* call = StageCall(self, request, spill);
  if (call != nullptr && Submit(call)) {
    List(call);
    return nullptr;
  }
  Gil gil;
  Raise(api.PyExc_RuntimeError, call == nullptr
                                    ? "Out of memory for an asynchronous call"
                                    : "Expected a thread for an asynchronous call but none could be started");
  if (call != nullptr) FreeCall(call);
  return TakeException(env, self, outcome);
}

void Abandon(Objects* self, napi_env, uint32_t number) {
  AsyncCall* call = self->calls;
  while (call != nullptr && call->number != number) call = call->next_call;
  if (call == nullptr) return;
  Unlist(call);
  call->is_abandoned.store(true, std::memory_order_relaxed);
}

// A future that JavaScript waits for keeps the settler, and calls it on any thread when the future is done. No thread
// waits meanwhile. If Python drops the settler without a call, the promise is rejected. The process stays alive until
// the promise is settled.
uint32_t MakeSettler(Objects* self, napi_env, uint32_t number) {
  static MethodDef definition = {"settle", reinterpret_cast<void*>(CallSettler), 0x0001 /* METH_VARARGS */,
                                 "settle(failed, value)"};
  AsyncCall* call = NewCall(self, number);
  void* block = call == nullptr ? nullptr : malloc(sizeof(Settler));
  Gil gil;
  Ref capsule(block == nullptr ? nullptr : api.PyCapsule_New(new (block) Settler{{call}}, kSettler, DropSettler));
  if (capsule) {
    List(call);
  } else {
    free(block);
    if (call != nullptr) FreeCall(call);
  }
  uint32_t handle = 0;
  Ref callable(capsule ? api.PyCFunction_NewEx(&definition, capsule.get(), nullptr) : nullptr);
  if (callable) handle = HoldObject(self, callable.get());
  if (handle != 0) callable.take();
  api.PyErr_Clear();
  return handle;
}

}  // namespace dlpack::python
