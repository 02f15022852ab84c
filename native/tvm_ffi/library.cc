#include "library.h"

#include <dlfcn.h>
#include <stdio.h>

#include "../lock.h"
#include "../signals.h"

namespace dlpack {
namespace tvm_ffi {

Library library;

static Lock load_lock;
static bool loaded = false;
static char loaded_path[4096];
static thread_local char failure[1024];

#if defined(__APPLE__)
static const char kLibraryName[] = "libtvm_ffi.dylib";
#else
static const char kLibraryName[] = "libtvm_ffi.so";
#endif

static const char* Fail(const char* text, const char* detail) {
  snprintf(failure, sizeof(failure), text, detail);
  return failure;
}

static const char* Resolve(void* handle, Library* found) {
#define DLPACK_RESOLVE(name, result, arguments)                            \
  *reinterpret_cast<void**>(&found->name) = dlsym(handle, "TVMFFI" #name); \
  if (found->name == nullptr) return Fail("it has no function %s", "TVMFFI" #name);
  DLPACK_TVM_FFI_SYMBOLS(DLPACK_RESOLVE)
#undef DLPACK_RESOLVE
  *reinterpret_cast<void**>(&found->ErrorCreateWithCauseAndExtraContext) =
      dlsym(handle, "TVMFFIErrorCreateWithCauseAndExtraContext");
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
  // A copy that another part of the process brought (a Python interpreter) is the one: two would have two tables of
  // functions and types.
  void* handle = dlopen(kLibraryName, RTLD_NOW | RTLD_GLOBAL | RTLD_NOLOAD);
  KeepSegmentationSignal();
  if (handle == nullptr) handle = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
  KeepSegmentationSignal();
  if (handle == nullptr) {
    const char* reason = dlerror();
    return Fail("%s", reason == nullptr ? "it cannot be loaded" : reason);
  }
  Library found;
  const char* problem = Resolve(handle, &found);
  if (problem != nullptr) {
    dlclose(handle);
    return problem;
  }
  Dl_info info;
  if (dladdr(reinterpret_cast<void*>(found.GetVersion), &info) != 0 && info.dli_fname != nullptr) {
    snprintf(loaded_path, sizeof(loaded_path), "%s", info.dli_fname);
  }
  library = found;
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

}  // namespace tvm_ffi
}  // namespace dlpack
