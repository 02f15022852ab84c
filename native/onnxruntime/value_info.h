// What a model's inputs, outputs and metadata are, as JavaScript objects.
#pragma once

#include "session.h"

namespace dlpack::onnxruntime {

// { inputs, outputs, required, metadata }; src/onnxruntime/binding.ts has the types. NULL when the environment ends.
// JavaScript thread.
napi_value DescribeSession(napi_env env, Session* session);

}  // namespace dlpack::onnxruntime
