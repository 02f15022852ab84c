#include "settler.h"

#include <stdlib.h>

#include <atomic>
#include <new>

#include "../forked.h"
#include "async_call.h"
#include "calls.h"

namespace dlpack::python {

namespace {

const char kName[] = "dlpack_settler";

// The capsule that a callable is bound to owns it.
struct Settler {
  std::atomic<AsyncCall*> call;  // NULL once settled
};

// Any thread, GIL held.
AsyncCall* TakeCall(Object* capsule) {
  auto* settler = static_cast<Settler*>(api.PyCapsule_GetPointer(capsule, kName));
  return settler == nullptr ? nullptr : settler->call.exchange(nullptr, std::memory_order_acq_rel);
}

// Sends the current exception. Any thread, GIL held.
void PostRaised(AsyncCall* call) {
  CarryRaised(call);
  PostCall(call);
}

// Python drops the callable. An exception may be set. Any thread, GIL held.
void Destroy(Object* capsule) {
  SavedError error;
  AsyncCall* call = TakeCall(capsule);
  if (call != nullptr && !is_forked) {
    api.PyErr_SetString(api.PyExc_RuntimeError, "Python dropped this future before it was done");
    PostRaised(call);
  }
  free(api.PyCapsule_GetPointer(capsule, kName));
}

// settle(failed, value): the value is the exception if it failed. Any thread, GIL held.
Object* Settle(Object* capsule, Object* arguments) {
  if (api.PyTuple_Size(arguments) != 2) return Raise(api.PyExc_TypeError, "Expected settle(failed, value)");
  AsyncCall* call = is_forked ? nullptr : TakeCall(capsule);
  Object* value = api.PyTuple_GetItem(arguments, 1);
  if (call != nullptr && api.PyTuple_GetItem(arguments, 0) == api._Py_TrueStruct) {
    api.PyErr_SetObject(TypeOf(value), value);
    PostRaised(call);
  } else if (call != nullptr) {
    CarryResult(call, NewRef(value));
    PostCall(call);
  }
  return None();
}

const int kVarArgs = 0x0001;
MethodDef definition = {"settle", reinterpret_cast<void*>(Settle), kVarArgs, "settle(failed, value)"};

// A capsule that owns a listed call. NULL, without taking over the call, when out of memory. JavaScript thread, GIL
// held.
Object* NewCapsule(AsyncCall* call) {
  void* block = malloc(sizeof(Settler));
  if (block == nullptr) return nullptr;
  Object* capsule = api.PyCapsule_New(new (block) Settler{{call}}, kName, Destroy);
  if (capsule == nullptr) {
    free(block);
  } else {
    ListCall(call);
  }
  return capsule;
}

}  // namespace

napi_value MakeSettler(napi_env env, napi_callback_info info) {
  napi_value values[1], result = nullptr;
  Channel* channel = ChannelOf(env, info, values);
  uint32_t handle = 0;
  AsyncCall* call = NewCall(channel, NumberIn(env, values[0]));
  if (call != nullptr) {
    Gil gil;
    Ref capsule(NewCapsule(call));
    if (!capsule) FreeCall(call);
    Ref callable(capsule ? api.PyCFunction_NewEx(&definition, capsule.get(), nullptr) : nullptr);
    if (callable) handle = HoldObject(channel->objects, callable.get());
    if (handle != 0) callable.take();
    api.PyErr_Clear();
  }
  napi_create_uint32(env, handle, &result);
  return result;
}

}  // namespace dlpack::python
