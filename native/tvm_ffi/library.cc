#include "library.h"

#include <stdio.h>

#include "../lock.h"
#include "../platform/platform.h"
#include "../signals.h"
#include "calls/builtins.h"

namespace dlpack::tvm_ffi {

Library library;

static Lock load_lock;
static bool loaded = false;
static char loaded_path[4096];
static thread_local char failure[1024];

static const char* Fail(const char* text, const char* detail) {
  snprintf(failure, sizeof(failure), text, detail);
  return failure;
}

static const char* Resolve(void* handle, Library* found) {
#define DLPACK_RESOLVE(name, result, arguments) \
  if (!platform::Find(handle, "TVMFFI" #name, &found->name)) return Fail("it has no function %s", "TVMFFI" #name);
  DLPACK_TVM_FFI_SYMBOLS(DLPACK_RESOLVE)
#undef DLPACK_RESOLVE
#define DLPACK_RESOLVE(name, result, arguments) platform::Find(handle, "TVMFFI" #name, &found->name);
  DLPACK_TVM_FFI_OPTIONAL_SYMBOLS(DLPACK_RESOLVE)
#undef DLPACK_RESOLVE
  found->GetVersion(&found->version);
  if (found->version.major != 0 || found->version.minor != 1) {
    char version[64];
    snprintf(version, sizeof(version), "%u.%u.%u", found->version.major, found->version.minor, found->version.patch);
    return Fail("expected TVM-FFI 0.1.x but it is %s, whose layouts may differ", version);
  }
  return nullptr;
}

const char* LoadLibrary(const char* path) {
  LockScope scope(&load_lock);
  if (loaded) return nullptr;
  // Uses a copy that other code in the process (a Python interpreter) has loaded, because two copies would have two
  // tables of functions and types.
  void* handle = platform::FindLoadedLibrary(DLPACK_LIBRARY("tvm_ffi"), platform::Symbols::kGlobal);
  RememberSignals();
  if (handle == nullptr) handle = platform::OpenLibrary(path, platform::Symbols::kGlobal, failure, sizeof(failure));
  KeepSignals();
  if (handle == nullptr) return failure;
  Library found;
  const char* problem = Resolve(handle, &found);
  if (problem != nullptr) {
    platform::CloseLibrary(handle);
    return problem;
  }
  platform::FindLibraryOf(reinterpret_cast<void*>(found.GetVersion), loaded_path, sizeof(loaded_path));
  library = found;
  ResolveBuiltins();
  loaded = true;
  return nullptr;
}

const char* LibraryPath() {
  LockScope scope(&load_lock);
  return loaded_path;
}

static Lock table_lock;
static thread_local int depth = 0;

TableScope::TableScope() {
  if (depth++ == 0) table_lock.Acquire();
}

TableScope::~TableScope() {
  if (--depth == 0) table_lock.Release();
}

}  // namespace dlpack::tvm_ffi
