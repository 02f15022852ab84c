// Strings from JavaScript, in memory from malloc.
#pragma once

#include <stdlib.h>
#include <string.h>

#include "../exports.h"
#include "abi.h"

namespace dlpack::onnxruntime {

// A copy of a string as UTF-8. NULL for other values, when out of memory, and for a string with a NUL inside, which C
// would cut.
inline char* CopyText(napi_env env, napi_value value) {
  size_t length = 0;
  if (napi_get_value_string_utf8(env, value, nullptr, 0, &length) != napi_ok) return nullptr;
  char* text = static_cast<char*>(malloc(length + 1));
  if (text == nullptr) return nullptr;
  napi_get_value_string_utf8(env, value, text, length + 1, &length);
  if (strlen(text) == length) return text;
  free(text);
  return nullptr;
}

// As CopyText, in the form of a path.
template <class Char>
inline Char* CopyWide(napi_env env, napi_value value) {
  size_t length = 0;
  if (napi_get_value_string_utf16(env, value, nullptr, 0, &length) != napi_ok) return nullptr;
  Char* path = static_cast<Char*>(malloc((length + 1) * sizeof(Char)));
  if (path != nullptr) napi_get_value_string_utf16(env, value, reinterpret_cast<char16_t*>(path), length + 1, &length);
  return path;
}

inline PathChar* CopyPath(napi_env env, napi_value value) {
  if constexpr (sizeof(PathChar) == sizeof(char)) {
    return reinterpret_cast<PathChar*>(CopyText(env, value));
  } else {
    return CopyWide<PathChar>(env, value);
  }
}

inline napi_value ElementOf(napi_env env, napi_value array, uint32_t index) {
  napi_value value = nullptr;
  napi_get_element(env, array, index, &value);
  return value;
}

}  // namespace dlpack::onnxruntime
