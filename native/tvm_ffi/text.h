// JavaScript strings and their UTF-8, for the length of a native call. JavaScript thread only.
#pragma once

#define NAPI_VERSION 8
#include <node_api.h>
#include <stdlib.h>

#include "../abi/tvm_ffi_abi.h"

namespace dlpack::tvm_ffi {

// The JavaScript string of a UTF-8 text; NULL when out of memory.
inline napi_value StringOf(napi_env env, const TVMFFIByteArray& bytes) {
  napi_value value = nullptr;
  napi_create_string_utf8(env, bytes.data == nullptr ? "" : bytes.data, bytes.size, &value);
  return value;
}

class Text {
 public:
  // Empty for a value that is not a string, and when out of memory.
  Text(napi_env env, napi_value value) : bytes_{"", 0}, block_(nullptr) {
    size_t length = 0;
    if (napi_get_value_string_utf8(env, value, nullptr, 0, &length) != napi_ok || length == 0) return;
    block_ = static_cast<char*>(malloc(length + 1));
    is_lost_ = block_ == nullptr;
    if (is_lost_) return;
    napi_get_value_string_utf8(env, value, block_, length + 1, &length);
    bytes_ = TVMFFIByteArray{block_, length};
  }
  ~Text() { free(block_); }
  Text(const Text&) = delete;
  Text& operator=(const Text&) = delete;

  const TVMFFIByteArray* bytes() const { return &bytes_; }

  // True when there was no memory for the text.
  bool is_lost() const { return is_lost_; }

 private:
  TVMFFIByteArray bytes_;
  char* block_;
  bool is_lost_ = false;
};

}  // namespace dlpack::tvm_ffi
