#include "driver.h"

#include <stdio.h>

#include <atomic>

#include "../lock.h"
#include "../platform/platform.h"

namespace dlpack::cuda {

DriverTable driver;

static std::atomic<bool> is_loaded;
static Lock load_lock;
static char problem[512];
static char loaded_path[4096];

bool IsLoaded() { return is_loaded.load(std::memory_order_acquire); }

// The first symbol that is missing; NULL when the table is complete.
static const char* Resolve(void* library) {
#define DLPACK_CUDA_RESOLVE(name, symbol, parameters) \
  if (!platform::Find(library, symbol, &driver.name)) return symbol;
  DLPACK_CUDA_FUNCTIONS(DLPACK_CUDA_RESOLVE)
#undef DLPACK_CUDA_RESOLVE
#define DLPACK_CUDA_RESOLVE(name, symbol, parameters) platform::Find(library, symbol, &driver.name);
  DLPACK_CUDA_NEWER_FUNCTIONS(DLPACK_CUDA_RESOLVE)
#undef DLPACK_CUDA_RESOLVE
  return nullptr;
}

const char* LoadDriver(const char* path) {
  LockScope scope(&load_lock);
  if (IsLoaded()) return nullptr;
  void* library = platform::OpenLibrary(path[0] == 0 ? DLPACK_CUDA_DRIVER : path, platform::Symbols::kLocal, problem,
                                        sizeof(problem));
  if (library == nullptr) return problem;
  if (const char* missing = Resolve(library)) {
    snprintf(problem, sizeof(problem), "it has no %s", missing);
    return problem;
  }
  const Result result = driver.Init(0);
  if (result != kSuccess) {
    const char* name = nullptr;
    const char* text = nullptr;
    driver.GetErrorName(result, &name);
    driver.GetErrorString(result, &text);
    snprintf(problem, sizeof(problem), "cuInit: %s (%s)", name == nullptr ? "unknown error" : name,
             text == nullptr ? "no text" : text);
    return problem;
  }
  snprintf(loaded_path, sizeof(loaded_path), "%s", path);
  is_loaded.store(true, std::memory_order_release);
  return nullptr;
}

const char* DriverPath() { return loaded_path; }

}  // namespace dlpack::cuda
