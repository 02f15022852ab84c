// The exchange of tensors with Python objects, for JavaScript. JavaScript thread.
#pragma once

#include "../exports.h"
#include "consume.h"
#include "values.h"

namespace dlpack::python {

// The data of a function that JavaScript called.
inline Objects* ObjectsOf(napi_env env, napi_callback_info info, napi_value* values = nullptr, size_t count = 1) {
  return DataOf<Objects>(env, info, values, count);
}

// Imports the tensor of an object. False when it has none: when no exception is set, the status of the result tells
// what went wrong. GIL held.
bool TakeTensor(Objects* self, Object* object, const ConsumeOptions& options, TensorResult* result);

// convert(): makes the object of a ConversionRequest. Returns the exception, if there is one.
napi_value Convert(napi_env env, napi_callback_info info);

// consume(): imports the tensor of the object of a ConsumeRequest. Returns the exception, if there is one.
napi_value Consume(napi_env env, napi_callback_info info);

}  // namespace dlpack::python
