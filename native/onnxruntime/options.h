// The options of sessions and runs. Those of a session come from the settings that JavaScript has checked.
#pragma once

#include "session_device.h"

namespace dlpack::onnxruntime {

// `settings` is an array of strings, three for each setting: what it is, its name, its value.
// src/onnxruntime/options.ts writes it. Kernels on the device use its stream. JavaScript thread.
void MakeOptions(napi_env env, napi_value settings, const SessionDevice& device, OrtSessionOptions** options,
                 Failure* failure);

// The options of a run, which writes nothing to the log. False on failure. Any thread.
bool NewRunOptions(OrtRunOptions** options, Failure* failure);

}  // namespace dlpack::onnxruntime
