// Tables of functions for JavaScript, one line each, and a function that defines them.
#pragma once

#define NAPI_VERSION 8
#include <node_api.h>

namespace dlpack {

struct Export {
  const char* name;
  napi_callback function;
};

// Defines the functions on an object, each with `data` as its callback data. JavaScript thread.
template <size_t kCount>
bool DefineFunctions(napi_env env, napi_value object, const Export (&entries)[kCount], void* data) {
  for (const Export& entry : entries) {
    napi_value function;
    if (napi_create_function(env, entry.name, NAPI_AUTO_LENGTH, entry.function, data, &function) != napi_ok ||
        napi_set_named_property(env, object, entry.name, function) != napi_ok) {
      return false;
    }
  }
  return true;
}

}  // namespace dlpack
