// Functions for JavaScript: tables of them, one line each, and what a call of one gets. JavaScript thread.
#pragma once

#define NAPI_VERSION 8
#include <node_api.h>

#include <initializer_list>

namespace dlpack {

struct NamedFunction {
  const char* name;
  napi_callback function;
};

// Defines the functions of tables, each of which ends with an empty row, on an object, with `data` as their callback
// data.
inline bool DefineFunctions(napi_env env, napi_value object, std::initializer_list<const NamedFunction*> tables,
                            void* data) {
  for (const NamedFunction* entry : tables) {
    for (; entry->name != nullptr; ++entry) {
      napi_value function;
      if (napi_create_function(env, entry->name, NAPI_AUTO_LENGTH, entry->function, data, &function) != napi_ok ||
          napi_set_named_property(env, object, entry->name, function) != napi_ok) {
        return false;
      }
    }
  }
  return true;
}

// The callback data of a function, with up to `count` arguments of the call in `values`. Missing arguments are
// undefined.
template <class Data>
inline Data* DataOf(napi_env env, napi_callback_info info, napi_value* values = nullptr, size_t count = 1) {
  void* data = nullptr;
  napi_get_cb_info(env, info, values == nullptr ? nullptr : &count, values, nullptr, &data);
  return static_cast<Data*>(data);
}

// The elements of a Uint8Array or a Float64Array; no elements, and not valid, for other values. Only typed arrays work
// over shared memory in all runtimes.
template <class Element>
struct Elements {
  Elements(napi_env env, napi_value value) {
    const napi_typedarray_type wanted = sizeof(Element) == 1 ? napi_uint8_array : napi_float64_array;
    napi_typedarray_type type;
    void* start = nullptr;
    size_t count = 0;
    is_valid =
        napi_get_typedarray_info(env, value, &type, &count, &start, nullptr, nullptr) == napi_ok && type == wanted;
    data = is_valid ? static_cast<Element*>(start) : nullptr;
    length = is_valid ? count : 0;
  }
  Element* data;
  size_t length;
  bool is_valid;
};

// The value of a number; 0 for other values.
inline uint32_t NumberIn(napi_env env, napi_value value) {
  uint32_t number = 0;
  napi_get_value_uint32(env, value, &number);
  return number;
}

// JavaScript values; NULL when the environment ends.
inline napi_value NewText(napi_env env, const char* text) {
  napi_value value = nullptr;
  napi_create_string_utf8(env, text, NAPI_AUTO_LENGTH, &value);
  return value;
}

inline napi_value NewNumber(napi_env env, double number) {
  napi_value value = nullptr;
  napi_create_double(env, number, &value);
  return value;
}

inline napi_value NewBoolean(napi_env env, bool truth) {
  napi_value value = nullptr;
  napi_get_boolean(env, truth, &value);
  return value;
}

// Clears the pending exception, if any, and returns false. For a call that fails only when memory or the stack is full,
// or when the environment ends.
inline bool ClearException(napi_env env) {
  bool is_pending = false;
  napi_value thrown;
  if (napi_is_exception_pending(env, &is_pending) == napi_ok && is_pending) {
    napi_get_and_clear_last_exception(env, &thrown);
  }
  return false;
}

// loadX(path): undefined, or the reason of a failure.
inline napi_value LoadFrom(napi_env env, napi_callback_info info, const char* (*load)(const char* path)) {
  napi_value path;
  DataOf<void>(env, info, &path);
  char text[4096];
  size_t length = 0;
  if (napi_get_value_string_utf8(env, path, text, sizeof(text), &length) != napi_ok) return NewText(env, "not a path");
  const char* problem = load(text);
  return problem == nullptr ? nullptr : NewText(env, problem);
}

}  // namespace dlpack
