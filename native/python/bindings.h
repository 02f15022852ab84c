// The functions of the Python bridge that JavaScript calls.
#pragma once

#define NAPI_VERSION 8
#include <node_api.h>

namespace dlpack::python {

// JavaScript thread.
napi_value StartPython(napi_env env, napi_callback_info info);

}  // namespace dlpack::python
