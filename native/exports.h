// Functions for JavaScript: tables of them, one line each, and what a call of one gets. JavaScript thread.
#pragma once

#define NAPI_VERSION 8
#include <node_api.h>

#include <stdint.h>

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
  Elements() : data(nullptr), length(0), is_valid(false) {}
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

// An argument of a call as the type that a function takes. A value of another type is 0, false, not a number, or no
// elements, which the function refuses like any other number that does not fit.
template <class Type>
struct Argument {
  static Type Of(napi_env env, napi_value value) { return Type(env, value); }
};

template <>
struct Argument<napi_value> {
  static napi_value Of(napi_env, napi_value value) { return value; }
};

template <>
struct Argument<uint32_t> {
  static uint32_t Of(napi_env env, napi_value value) { return NumberIn(env, value); }
};

template <>
struct Argument<int32_t> {
  static int32_t Of(napi_env env, napi_value value) {
    int32_t number = 0;
    napi_get_value_int32(env, value, &number);
    return number;
  }
};

template <>
struct Argument<double> {
  static double Of(napi_env env, napi_value value) {
    double number = __builtin_nan("");
    napi_get_value_double(env, value, &number);
    return number;
  }
};

template <>
struct Argument<bool> {
  static bool Of(napi_env env, napi_value value) {
    bool truth = false;
    napi_get_value_bool(env, value, &truth);
    return truth;
  }
};

// A bigint.
template <>
struct Argument<uint64_t> {
  static uint64_t Of(napi_env env, napi_value value) {
    uint64_t number = 0;
    bool is_exact;
    napi_get_value_bigint_uint64(env, value, &number, &is_exact);
    return number;
  }
};

// An address, as a bigint.
template <>
struct Argument<void*> {
  static void* Of(napi_env env, napi_value value) {
    return reinterpret_cast<void*>(Argument<uint64_t>::Of(env, value));
  }
};

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

inline napi_value NewNull(napi_env env) {
  napi_value value = nullptr;
  napi_get_null(env, &value);
  return value;
}

inline napi_value NewBigInt(napi_env env, uint64_t number) {
  napi_value value = nullptr;
  napi_create_bigint_uint64(env, number, &value);
  return value;
}

// Bytes as hexadecimal digits, for at most 64 bytes.
inline napi_value NewHex(napi_env env, const void* bytes, size_t count) {
  char text[2 * 64];
  for (size_t i = 0; i < count; ++i) {
    const uint8_t byte = static_cast<const uint8_t*>(bytes)[i];
    text[2 * i] = "0123456789abcdef"[byte >> 4];
    text[2 * i + 1] = "0123456789abcdef"[byte & 15];
  }
  napi_value value = nullptr;
  napi_create_string_latin1(env, text, 2 * count, &value);
  return value;
}

// Reads `count` bytes, at most 64, that JavaScript gives as small hexadecimal digits; false for anything else.
inline bool ReadHex(napi_env env, napi_value value, void* bytes, size_t count) {
  char text[2 * 64 + 2];
  size_t length = 0;
  if (napi_get_value_string_latin1(env, value, text, 2 * count + 2, &length) != napi_ok || length != 2 * count) {
    return false;
  }
  const auto digit = [](char c) { return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1; };
  for (size_t i = 0; i < count; ++i) {
    const int high = digit(text[2 * i]);
    const int low = digit(text[2 * i + 1]);
    if (high < 0 || low < 0) return false;
    static_cast<uint8_t*>(bytes)[i] = static_cast<uint8_t>(high << 4 | low);
  }
  return true;
}

inline napi_value NewArray(napi_env env, std::initializer_list<napi_value> values) {
  napi_value array = nullptr;
  if (napi_create_array_with_length(env, values.size(), &array) != napi_ok) return nullptr;
  uint32_t i = 0;
  for (napi_value value : values) {
    if (napi_set_element(env, array, i++, value) != napi_ok) return nullptr;
  }
  return array;
}

// What a function returns to JavaScript.
inline napi_value ValueOf(napi_env, napi_value value) { return value; }
inline napi_value ValueOf(napi_env env, bool truth) { return NewBoolean(env, truth); }
inline napi_value ValueOf(napi_env env, double number) { return NewNumber(env, number); }
inline napi_value ValueOf(napi_env env, int32_t number) { return NewNumber(env, number); }
inline napi_value ValueOf(napi_env env, uint32_t number) { return NewNumber(env, number); }
inline napi_value ValueOf(napi_env env, uint64_t number) { return NewBigInt(env, number); }

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
