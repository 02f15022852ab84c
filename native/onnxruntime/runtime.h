// ONNX Runtime's library: found, opened and never closed. One for the process.
#pragma once

#include "../hidden.h"
#include "abi.h"

namespace dlpack::onnxruntime {

struct Library {
#define DLPACK_ORT_DECLARE(name, position, result, arguments) result(*name) arguments;
  DLPACK_ORT_FUNCTIONS(DLPACK_ORT_DECLARE)
#undef DLPACK_ORT_DECLARE
#define DLPACK_ORT_DECLARE(name, position, result, arguments, version) result(*name) arguments;
  DLPACK_ORT_OPTIONAL_FUNCTIONS(DLPACK_ORT_DECLARE)
#undef DLPACK_ORT_DECLARE
  const char* version_text;
  int32_t version;        // N of 1.N.P
  OrtEnv* env;            // one for each library, shared with onnxruntime-node; we never release our reference
  OrtMemoryInfo* host;    // describes host memory
  OrtAllocator* strings;  // the library's own allocator, for names
};

// Set once by LoadLibrary, before any other function of this folder runs.
DLPACK_HIDDEN extern Library library;

// Opens the library at this path and uses it. An empty path means the one that the process has loaded already. NULL, or
// the reason of a failure. Any thread.
const char* LoadLibrary(const char* path);

// Opens the library at this path without using it, so that the loader finds it, and not one that is opened later, by
// the name that all have. NULL, or the reason of a failure. Any thread.
const char* ReserveName(const char* path);

// The file of the library. Any thread.
const char* LibraryPath();

}  // namespace dlpack::onnxruntime
