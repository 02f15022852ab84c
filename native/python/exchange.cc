#include "exchange.h"

#include "../forked.h"
#include "calls.h"
#include "channel.h"
#include "convert.h"
#include "operation_scope.h"

namespace dlpack::python {

bool TakeTensor(Objects* self, Object* object, const ConsumeOptions& options, TensorResult* result) {
  Descriptor descriptor;
  Status status;
  Storage* storage = ConsumeObject(object, options, &descriptor, &status, &self->instance->signature);
  result->status = GiveTensor(self->instance, storage, status, descriptor, &result->tensor, false);
  return storage != nullptr;
}

napi_value Convert(napi_env env, napi_callback_info info) {
  Objects* self = ObjectsOf(env, info);
  ConversionRequest* request = MessageOf<ConversionRequest>(self->instance);
  Outcome* outcome = reinterpret_cast<Outcome*>(request);
  request->failed = 0;
  OperationScope scope(self);
  Object* result = ConvertTensor(self, request);
  if (is_forked) LeaveForked();
  if (self->snapshot != nullptr) RenewSnapshot(self);
  if (result != nullptr) {
    HoldResult(self, result, outcome);
    return nullptr;
  }
  return api.PyErr_Occurred() ? TakeException(env, self, outcome) : nullptr;
}

napi_value Consume(napi_env env, napi_callback_info info) {
  Objects* self = ObjectsOf(env, info);
  ConsumeRequest* request = MessageOf<ConsumeRequest>(self->instance);
  TensorResult* result = MessageAt<TensorResult>(self->instance, request->tensor_slot);
  const ConsumeOptions options = {request->copy, request->device_type != 0, request->device_type, request->device_id,
                                  static_cast<int64_t>(request->stream)};
  request->failed = 0;
  OperationScope scope(self);
  Object* held = GetObject(self, request->object);
  if (held == nullptr) {
    result->status = kConsumed;
    return nullptr;
  }
  const Ref object(NewRef(held));
  if (TakeTensor(self, object.get(), options, result)) return nullptr;
  return api.PyErr_Occurred() ? TakeException(env, self, reinterpret_cast<Outcome*>(request)) : nullptr;
}

}  // namespace dlpack::python
