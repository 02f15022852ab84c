// convert and convertAsync: a pass described by JavaScript in a Float64Array, over storages or over typed arrays.
#include <stdlib.h>

#include "../bindings.h"
#include "pass.h"

namespace dlpack {

// Fields of the request, the indices of src/native/convert.ts.
enum Field { kOutcome, kFromHandle, kToHandle, kFromType, kToType, kFromBit, kToBit, kAxisCount, kThreads, kAxes };

static ElementType TypeOfPacked(double packed, int64_t* bits) {
  const uint32_t number = static_cast<uint32_t>(packed);
  *bits = number >> 8 & 0xff;
  return ElementTypeOf(number & 0xff, number >> 8 & 0xff);
}

static void ReadPass(const double* request, Pass* pass) {
  pass->from_type = TypeOfPacked(request[kFromType], &pass->from_bits);
  pass->to_type = TypeOfPacked(request[kToType], &pass->to_bits);
  // Types without a row of their own are copied as they are, and only among themselves.
  if (pass->from_type == kRaw && request[kFromType] != request[kToType]) pass->to_bits = 0;
  pass->from_bit = static_cast<int64_t>(request[kFromBit]);
  pass->to_bit = static_cast<int64_t>(request[kToBit]);
  pass->ndim = static_cast<int32_t>(request[kAxisCount]);
  pass->threads = static_cast<int32_t>(request[kThreads]);
  const double* axes = request + kAxes;
  for (int32_t i = 0; i < pass->ndim; ++i) {
    pass->shape[i] = static_cast<int64_t>(axes[i]);
    pass->from_step[i] = static_cast<int64_t>(axes[pass->ndim + i]);
    pass->to_step[i] = static_cast<int64_t>(axes[2 * pass->ndim + i]);
  }
}

static bool ArrayOf(napi_env env, napi_value value, napi_typedarray_type wanted, void** data) {
  napi_typedarray_type type;
  return napi_get_typedarray_info(env, value, &type, nullptr, data, nullptr, nullptr) == napi_ok && type == wanted;
}

// Memory of a storage that this environment holds, or of the typed array given in its place.
static uint8_t* MemoryOf(Environment* self, double handle, napi_value array) {
  void* data = nullptr;
  if (handle == 0) return ArrayOf(self->env, array, napi_uint8_array, &data) ? static_cast<uint8_t*>(data) : nullptr;
  Storage* storage = GetHeld(self, static_cast<uint32_t>(handle));
  return storage == nullptr ? nullptr : static_cast<uint8_t*>(storage->data);
}

// convert(request, source, target), on the JavaScript thread. Leaves 1 in the first field when it was done.
napi_value Convert(napi_env env, napi_callback_info info) {
  napi_value arguments[3];
  size_t count = 3;
  void* self = nullptr;
  void* data = nullptr;
  napi_get_cb_info(env, info, &count, arguments, nullptr, &self);
  if (!ArrayOf(env, arguments[0], napi_float64_array, &data)) return nullptr;
  double* request = static_cast<double*>(data);
  Environment* environment = static_cast<Environment*>(self);
  Pass pass;
  ReadPass(request, &pass);
  pass.from = MemoryOf(environment, request[kFromHandle], arguments[1]);
  pass.to = MemoryOf(environment, request[kToHandle], arguments[2]);
  if (pass.from == nullptr || pass.to == nullptr || !CanRun(pass)) return nullptr;
  RunPass(pass);
  request[kOutcome] = 1;
  return nullptr;
}

struct AsyncPass {
  Pass pass;
  Storage* from;
  Storage* to;
  napi_async_work work;
  napi_deferred deferred;
};

// On a thread of the runtime's pool.
static void Execute(napi_env, void* data) { RunPass(static_cast<AsyncPass*>(data)->pass); }

// On the JavaScript thread.
static void Complete(napi_env env, napi_status status, void* data) {
  AsyncPass* self = static_cast<AsyncPass*>(data);
  ReleaseStorage(self->from);
  ReleaseStorage(self->to);
  napi_value result;
  if (napi_get_boolean(env, status == napi_ok, &result) == napi_ok) napi_resolve_deferred(env, self->deferred, result);
  napi_delete_async_work(env, self->work);
  free(self);
}

static napi_value Queue(napi_env env, AsyncPass* pass) {
  napi_value promise, name;
  if (napi_create_promise(env, &pass->deferred, &promise) != napi_ok) return nullptr;
  if (napi_create_string_utf8(env, "dlpack", NAPI_AUTO_LENGTH, &name) != napi_ok ||
      napi_create_async_work(env, nullptr, name, Execute, Complete, pass, &pass->work) != napi_ok) {
    return nullptr;
  }
  if (napi_queue_async_work(env, pass->work) == napi_ok) return promise;
  napi_delete_async_work(env, pass->work);
  return nullptr;
}

// convertAsync(request), for two storages: a promise of whether it was done, or undefined. Both are kept until then.
napi_value ConvertAsync(napi_env env, napi_callback_info info) {
  napi_value argument;
  Environment* self = EnvironmentOf(env, info, &argument);
  void* data = nullptr;
  if (!ArrayOf(env, argument, napi_float64_array, &data)) return nullptr;
  const double* request = static_cast<const double*>(data);
  Storage* from = GetHeld(self, static_cast<uint32_t>(request[kFromHandle]));
  Storage* to = GetHeld(self, static_cast<uint32_t>(request[kToHandle]));
  AsyncPass* pass = from == nullptr || to == nullptr ? nullptr : static_cast<AsyncPass*>(malloc(sizeof(AsyncPass)));
  if (pass == nullptr) return nullptr;
  ReadPass(request, &pass->pass);
  pass->pass.from = static_cast<uint8_t*>(from->data);
  pass->pass.to = static_cast<uint8_t*>(to->data);
  pass->from = from;
  pass->to = to;
  napi_value promise = CanRun(pass->pass) ? Queue(env, pass) : nullptr;
  if (promise == nullptr) {
    free(pass);
    return nullptr;
  }
  RetainStorage(from);
  RetainStorage(to);
  return promise;
}

}  // namespace dlpack
