// How the addon's functions read arguments and return values. JavaScript threads.
#ifndef DLPACK_TESTS_FAKE_CUDA_CONTROL_H_
#define DLPACK_TESTS_FAKE_CUDA_CONTROL_H_

#include <node_api.h>

#include "state.h"

namespace fake {

inline void Throw(napi_env env, const std::string& text) { napi_throw_error(env, nullptr, text.c_str()); }

// Arguments of one call, with a default for missing arguments.
struct Arguments {
  Arguments(napi_env e, napi_callback_info info) : env(e) {
    size_t count = 8;
    napi_get_cb_info(env, info, &count, values, nullptr, nullptr);
  }
  double Number(int i, double fallback = 0) const {
    double result = fallback;
    napi_get_value_double(env, values[i], &result);
    return result;
  }
  bool Flag(int i, bool fallback = false) const {
    bool result = fallback;
    napi_get_value_bool(env, values[i], &result);
    return result;
  }
  std::string Text(int i) const { return TextOf(env, values[i]); }
  uint64_t Word(int i) const {
    uint64_t result = 0;
    bool lossless;
    if (napi_get_value_bigint_uint64(env, values[i], &result, &lossless) != napi_ok)
      return static_cast<uint64_t>(Number(i));
    return result;
  }
  static std::string TextOf(napi_env env, napi_value value) {
    char text[4096];
    size_t length = 0;
    napi_get_value_string_utf8(env, value, text, sizeof text, &length);
    return std::string(text, length);
  }
  napi_env env;
  napi_value values[8];
};

inline napi_value Number(napi_env env, double value) {
  napi_value result;
  napi_create_double(env, value, &result);
  return result;
}

inline napi_value Texts(napi_env env, const std::vector<std::string>& texts) {
  napi_value result;
  napi_create_array(env, &result);
  for (size_t i = 0; i < texts.size(); ++i) {
    napi_value text;
    napi_create_string_utf8(env, texts[i].data(), texts[i].size(), &text);
    napi_set_element(env, result, static_cast<uint32_t>(i), text);
  }
  return result;
}

// The memory of a typed array.
inline void* MemoryOf(napi_env env, napi_value value, size_t* bytes) {
  napi_typedarray_type type;
  size_t length = 0, offset;
  void* data = nullptr;
  napi_value buffer;
  static const size_t widths[] = {1, 1, 1, 2, 2, 4, 4, 4, 8, 8, 8};
  if (napi_get_typedarray_info(env, value, &type, &length, &data, &buffer, &offset) != napi_ok) return nullptr;
  *bytes = length * widths[type];
  return data;
}

struct NamedFunction {
  const char* name;
  napi_callback callback;
};

inline void AddFunctions(napi_env env, napi_value exports, const std::vector<NamedFunction>& functions) {
  for (const NamedFunction& function : functions) {
    napi_value value;
    napi_create_function(env, function.name, NAPI_AUTO_LENGTH, function.callback, nullptr, &value);
    napi_set_named_property(env, exports, function.name, value);
  }
}

// control.cc
void AddControls(napi_env env, napi_value exports);
// calls.cc
void AddCalls(napi_env env, napi_value exports);

}  // namespace fake

#endif  // DLPACK_TESTS_FAKE_CUDA_CONTROL_H_
