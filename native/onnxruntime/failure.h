// Failure: why something did not work, as a code of ONNX Runtime and a text.
#pragma once

#include <stdio.h>

#include "../exports.h"
#include "runtime.h"

namespace dlpack::onnxruntime {

static const int32_t kFailed = 1, kInvalidArgument = 2;  // codes of the library
static const int32_t kOverlap = -1;                      // tensors share memory; the text is that of the error

struct Failure {
  int32_t code;  // 0: none
  char text[2048];

  // Takes over a status of the library. True when it is a failure.
  bool Take(OrtStatus* status) {
    if (status == nullptr) return false;
    Set(library.GetErrorCode(status), library.GetErrorMessage(status));
    library.ReleaseStatus(status);
    return true;
  }

  void Set(int32_t reason, const char* message) {
    code = reason;
    snprintf(text, sizeof(text), "%s", message);
  }
};

// [code, text]
inline napi_value NewFailure(napi_env env, const Failure& failure) {
  napi_value pair = nullptr;
  if (napi_create_array_with_length(env, 2, &pair) != napi_ok) return nullptr;
  napi_set_element(env, pair, 0, NewNumber(env, failure.code));
  napi_set_element(env, pair, 1, NewText(env, failure.text));
  return pair;
}

}  // namespace dlpack::onnxruntime
