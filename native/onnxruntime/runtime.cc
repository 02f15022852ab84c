#include "runtime.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../lock.h"
#include "../platform/platform.h"
#include "allocator.h"

namespace dlpack::onnxruntime {

Library library;

namespace {

// What the only exported function returns.
struct ApiBase {
  void* const* (*GetApi)(uint32_t version);
  const char* (*GetVersionString)();
};

platform::Mutex mutex;  // opening takes a tenth of a second
bool is_loaded = false;
char loaded_path[4096];
thread_local char failure[1024];

const char* Fail(const char* text, const char* detail) {
  snprintf(failure, sizeof(failure), text, detail);
  return failure;
}

const char* Take(OrtStatus* status, const char* what) {
  if (status == nullptr) return nullptr;
  snprintf(failure, sizeof(failure), "%s: %s", what, library.GetErrorMessage(status));
  library.ReleaseStatus(status);
  return failure;
}

const char* Resolve(const ApiBase* base) {
  library.version_text = base->GetVersionString();
  const char* dot = strchr(library.version_text, '.');
  library.version = dot == nullptr ? 0 : static_cast<int>(strtol(dot + 1, nullptr, 10));
  if (strncmp(library.version_text, "1.", 2) != 0 || library.version < kOldestVersion) {
    return Fail("expected ONNX Runtime 1.20 or newer of 1.x but it is %s", library.version_text);
  }
  // The number of the version itself: for a larger one the library prints a complaint and returns NULL.
  void* const* table = base->GetApi(static_cast<uint32_t>(library.version));
  if (table == nullptr) return Fail("version %s has no table of functions", library.version_text);
#define DLPACK_ORT_RESOLVE(name, position, result, arguments) \
  library.name = reinterpret_cast<result(*) arguments>(table[position]);
  DLPACK_ORT_FUNCTIONS(DLPACK_ORT_RESOLVE)
#undef DLPACK_ORT_RESOLVE
#define DLPACK_ORT_RESOLVE(name, position, result, arguments, since) \
  library.name = library.version < since ? nullptr : reinterpret_cast<result(*) arguments>(table[position]);
  DLPACK_ORT_OPTIONAL_FUNCTIONS(DLPACK_ORT_RESOLVE)
#undef DLPACK_ORT_RESOLVE
  return nullptr;
}

// Makes what every session needs.
const char* Prepare() {
  // From 1.29 on the library reports models and runs to its maker, unless this variable is 1 when it starts. A program
  // that wants the reports sets another value.
  platform::SetDefaultVariable("ORT_DISABLE_TELEMETRY", "1");
  const char* problem = Take(library.CreateEnv(kFatalOnly, "dlpack", &library.env), "CreateEnv");
  if (problem == nullptr) {
    problem = Take(library.CreateCpuMemoryInfo(kDeviceAllocator, kDefaultMemory, &library.host), "CreateCpuMemoryInfo");
  }
  if (problem == nullptr) {
    problem = Take(library.GetAllocatorWithDefaultOptions(&library.strings), "GetAllocatorWithDefaultOptions");
  }
  if (problem == nullptr) {
    PrepareAllocator(static_cast<uint32_t>(library.version), library.host);
    // Some versions refuse a second allocator. Then another copy of this package has registered its own, which is as
    // good: each value is freed by the allocator that made it.
    OrtStatus* status = library.RegisterAllocator(library.env, BlockAllocator());
    if (status != nullptr) library.ReleaseStatus(status);
  }
  return problem;
}

}  // namespace

const char* LoadLibrary(const char* path) {
  platform::MutexScope scope(&mutex);
  if (is_loaded) return nullptr;
  void* handle;
  if (*path == '\0') {
    // By the name under which loaders know version 1.
    handle = platform::FindLoadedLibrary(DLPACK_ONNXRUNTIME, platform::Symbols::kLocal);
    if (handle == nullptr) return "no ONNX Runtime is loaded in this process";
  } else {
    handle = platform::OpenLibrary(path, platform::Symbols::kLocal, failure, sizeof(failure));
    if (handle == nullptr) return failure;
  }
  const ApiBase* (*get_base)();
  if (!platform::Find(handle, "OrtGetApiBase", &get_base)) return "it has no function OrtGetApiBase";
  const char* problem = Resolve(get_base());
  if (problem == nullptr) problem = Prepare();
  if (problem != nullptr) return problem;
  platform::FindLibraryOf(reinterpret_cast<const void*>(get_base), loaded_path, sizeof(loaded_path));
  is_loaded = true;
  return nullptr;
}

const char* ReserveName(const char* path) {
  void* handle = platform::OpenLibrary(path, platform::Symbols::kLocal, failure, sizeof(failure));
  return handle == nullptr ? failure : nullptr;
}

const char* LibraryPath() {
  platform::MutexScope scope(&mutex);
  return loaded_path;
}

}  // namespace dlpack::onnxruntime
