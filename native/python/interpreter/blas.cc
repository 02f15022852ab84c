#include "blas.h"

#include <stdlib.h>

#include "../../lock.h"
#include "../../platform/platform.h"
#include "../objects/calls.h"
#include "torch_threads.h"

namespace dlpack::python {

namespace {

// A build of OpenBLAS may add a prefix and a suffix to the names of its functions.
struct Names {
  const char* get_parallel;
  const char* set_num_threads;
};
const Names kBuilds[] = {
    {"openblas_get_parallel", "openblas_set_num_threads"},
    {"openblas_get_parallel64_", "openblas_set_num_threads64_"},
    {"scipy_openblas_get_parallel", "scipy_openblas_set_num_threads"},
    {"scipy_openblas_get_parallel64_", "scipy_openblas_set_num_threads64_"},
};
const int kOwnThreads = 1;  // of OpenBLAS; a build without threads, or with OpenMP, has no handler

typedef void (*SetNumThreads)(int);

// True once for each OpenBLAS: many modules use the same one, and the program may have chosen a number meanwhile.
bool IsNew(SetNumThreads function) {
  static const size_t kMost = 16;
  static Lock lock;
  static SetNumThreads known[kMost];
  LockScope scope(&lock);
  for (SetNumThreads& place : known) {
    if (place == function) return false;
    if (place != nullptr) continue;
    place = function;
    return true;
  }
  return false;
}

void UseOneThread(const char* module) {
  void* library = platform::FindLoadedLibrary(module, platform::Symbols::kLocal);
  if (library == nullptr) return;
  for (const Names& names : kBuilds) {
    int (*get_parallel)();
    SetNumThreads set_num_threads;
    // A search in a library includes the libraries that it needs.
    if (platform::Find(library, names.get_parallel, &get_parallel) && get_parallel() == kOwnThreads &&
        platform::Find(library, names.set_num_threads, &set_num_threads) && IsNew(set_num_threads))
      set_num_threads(1);
  }
  platform::CloseLibrary(library);
}

// create_dynamic(spec, file=None), on any thread.
Object* Load(Object* create_dynamic, Object* arguments) {
  Object* module = api.PyObject_Call(create_dynamic, arguments, nullptr);
  if (module == nullptr) return nullptr;
  Object* spec = api.PyTuple_GetItem(arguments, 0);
  if (HasText(spec, "name", "torch._C")) ShareCores(module);
  if (getenv("OPENBLAS_NUM_THREADS") != nullptr) return module;
  const Ref origin(api.PyObject_GetAttrString(spec, "origin"));
  const char* path = origin ? api.PyUnicode_AsUTF8AndSize(origin.get(), nullptr) : nullptr;
  api.PyErr_Clear();
  if (path != nullptr) UseOneThread(path);
  return module;
}

const int kVarArgs = 0x0001;
MethodDef load = {"create_dynamic", reinterpret_cast<void*>(Load), kVarArgs, nullptr};

}  // namespace

Object* WatchLoads(Object*, Object* create_dynamic) { return api.PyCFunction_NewEx(&load, create_dynamic, nullptr); }

}  // namespace dlpack::python
