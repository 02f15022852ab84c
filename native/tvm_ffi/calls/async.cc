// Asynchronous calls, which run on a thread of the pool. Their arguments are copied before, and their results are
// settled on the JavaScript thread.
#include <stdlib.h>

#include "../../exchange/managed_tensor.h"
#include "../context.h"

namespace dlpack::tvm_ffi {

struct AsyncCall {
  uint64_t serial;  // of the context that waits
  napi_async_work work;
  napi_ref on_end;  // the JavaScript function that waits
  TVMFFIObjectHandle function;
  DLPackManagedTensorAllocator allocator;
  int32_t device_type;  // 0: no stream
  int32_t device_id;
  TVMFFIStreamHandle stream;
  bool is_done;
  TVMFFIObjectHandle error;
  TVMFFIAny result;
  Batch* batch;  // the arguments; NULL: no arguments
};

// Any thread.
static void FreeCall(AsyncCall* call) {
  ReleaseValue(call->result);
  if (call->error != nullptr) library.ObjectDecRef(call->error);
  if (call->batch != nullptr) library.ObjectDecRef(call->batch);
  library.ObjectDecRef(call->function);
  free(call);
}

// Runs on a thread of the pool. Restores the thread's stream and allocator, because the next task may not be ours.
static void Execute(napi_env, void* data) {
  AsyncCall* call = static_cast<AsyncCall*>(data);
  if (call->is_done) return;
  call->is_done = true;
  DLPackManagedTensorAllocator allocator = nullptr;
  TVMFFIStreamHandle stream = nullptr;
  library.EnvSetDLPackManagedTensorAllocator(call->allocator, 0, &allocator);
  if (call->device_type != 0) library.EnvSetStream(call->device_type, call->device_id, call->stream, &stream);
  const TVMFFIFunctionCell* cell = CellOf<TVMFFIFunctionCell>(call->function);
  const TVMFFIAny* args = call->batch == nullptr ? nullptr : call->batch->values;
  const int32_t count = call->batch == nullptr ? 0 : call->batch->count;
  const int status = cell->safe_call(call->function, args, count, &call->result);
  if (call->device_type != 0) library.EnvSetStream(call->device_type, call->device_id, stream, nullptr);
  library.EnvSetDLPackManagedTensorAllocator(allocator, 0, nullptr);
  // A raised error belongs to the thread, too.
  if (status != 0) library.ErrorMoveFromRaised(&call->error);
}

static void Complete(napi_env env, napi_status status, void* data);

static bool Queue(napi_env env, AsyncCall* call) {
  napi_value name = NewText(env, "dlpack.callAsync");
  return name != nullptr &&
         napi_create_async_work(env, nullptr, name, Execute, Complete, call, &call->work) == napi_ok &&
         napi_queue_async_work(env, call->work) == napi_ok;
}

// JavaScript thread, from the event loop. If the context has ended, nobody waits.
static void Complete(napi_env env, napi_status status, void* data) {
  AsyncCall* call = static_cast<AsyncCall*>(data);
  napi_delete_async_work(env, call->work);
  Context* self = FindContext(call->serial);
  const bool is_awaited = status == napi_ok && self != nullptr;
  // An event loop inside deeply nested calls may find the wire full. The loop gets the outcome again, until there is
  // room.
  if (is_awaited && !SettleCall(self, call->on_end, call->result, call->error) && Queue(env, call)) return;
  napi_delete_reference(env, call->on_end);
  FreeCall(call);
}

// callAsync(function, batch, deviceType, deviceId, stream, onEnd): runs a function on another thread.
static bool CallFunctionAsync(Context* self, napi_env env, Address function, uint32_t batch, int32_t device_type,
                              int32_t device_id, TVMFFIStreamHandle stream, napi_value on_end) {
  AsyncCall* call = static_cast<AsyncCall*>(calloc(1, sizeof(AsyncCall)));
  if (call == nullptr) return false;
  call->serial = self->serial;
  call->function = function.pointer;
  call->allocator = self->allocator != nullptr ? self->allocator : ExchangeApi()->managed_tensor_allocator;
  call->device_type = device_type;
  call->device_id = device_id;
  call->stream = stream;
  library.ObjectIncRef(call->function);
  call->batch = AsBatch(OwnedAt(self, batch));
  if (call->batch != nullptr) library.ObjectIncRef(call->batch);
  if (napi_create_reference(env, on_end, 1, &call->on_end) == napi_ok) {
    if (Queue(env, call)) return true;
    napi_delete_reference(env, call->on_end);
  }
  FreeCall(call);
  return false;
}

const NamedFunction kAsyncFunctions[] = {{"callAsync", Binding<CallFunctionAsync>::Call}, {}};

}  // namespace dlpack::tvm_ffi
