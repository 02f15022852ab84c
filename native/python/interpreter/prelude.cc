#include "prelude.h"

#include <stdio.h>

#include <atomic>

#include "../../platform/platform.h"
#include "../../signals.h"
#include "../calls/functions.h"
#include "../tensors/dtypes_py.h"
#include "../tensors/tensor_py.h"
#include "../tensors/tensor_type.h"
#include "../threads/channel.h"
#include "../threads/pool.h"
#include "blas.h"
#include "prelude_py.h"

namespace dlpack::python {

namespace {

// A function for Python without arguments.
template <void (*kAction)()>
Object* CallAction(Object*, Object*) {
  kAction();
  return None();
}

const int kNoArguments = 0x0004, kOneArgument = 0x0008;
MethodDef keep = {"keep_signals", reinterpret_cast<void*>(CallAction<KeepSignals>), kNoArguments, nullptr};
MethodDef restore = {"restore_signals", reinterpret_cast<void*>(CallAction<RestoreSignals>), kNoArguments, nullptr};
MethodDef watch = {"watch_loads", reinterpret_cast<void*>(WatchLoads), kOneArgument, nullptr};

Object* prelude;  // the dict of its functions

// Takes the reference over.
bool Define(const char* name, Object* value) {
  const Ref ref(value);
  return ref && api.PyDict_SetItemString(prelude, name, value) == 0;
}

std::atomic<bool> has_run{false};
std::atomic<bool> is_over{false};

// What Watch needs.
struct Leaving {
  int status;
  uint32_t milliseconds;
} leaving;

// Runs on its own thread, because an exit function that waits forever must not keep the process alive.
void* Watch(void*) {
  for (uint32_t i = 0; i < leaving.milliseconds / 10 && !is_over.load(std::memory_order_acquire); ++i)
    platform::SleepMicroseconds(10000);
  if (!is_over.load(std::memory_order_acquire)) {
    char text[128];
    snprintf(text, sizeof(text),
             "dlpack: Python's exit functions took longer than %u ms; the process ends without them\n",
             static_cast<unsigned>(leaving.milliseconds));
    platform::EndProcess(leaving.status, text);
  }
  return nullptr;
}

}  // namespace

Object* name_types[2];

bool RunPrelude(bool is_ours) {
  prelude = api.PyDict_New();
  const Ref exec(ImportFrom("builtins", "exec"));
  if (prelude == nullptr || !exec) return false;
  if (!Define("Tensor", MakeTensorType()) || !Define("Function", MakeFunctionType()) ||
      !Define("keep_signals", api.PyCFunction_NewEx(&keep, nullptr, nullptr)) ||
      !Define("restore_signals", api.PyCFunction_NewEx(&restore, nullptr, nullptr)) ||
      !Define("watch_loads", api.PyCFunction_NewEx(&watch, nullptr, nullptr)) ||
      !Define("is_ours", api.PyBool_FromLong(is_ours)))
    return false;
  for (const char* source : {kDtypesPy, kPreludePy, kTensorPy}) {
    const Ref code(NewString(source));
    const Ref result(code ? CallWith(exec.get(), code.get(), prelude) : nullptr);
    if (!result) return false;
  }
  name_types[0] = FindPrelude("DType");  // kept, as the prelude is
  name_types[1] = FindPrelude("Device");
  return name_types[0] != nullptr && name_types[1] != nullptr;
}

Object* FindPrelude(const char* name) {
  const Ref key(NewString(name));
  return key ? api.PyObject_GetItem(prelude, key.get()) : nullptr;
}

// Only the first call has an effect. On the JavaScript thread that ends the process, without the GIL.
void Leave(Objects*, napi_env, uint32_t status, uint32_t milliseconds) {
  if (!has_run.exchange(true)) {
    StopAnsweringHere();  // an exit function may wait for a thread that waits for JavaScript
    leaving = {static_cast<int>(status), milliseconds};
    platform::StartThread(Watch, nullptr);
    Gil gil;
    RunDeferred();  // another thread must not drop objects of a library while its exit function runs
    const Ref result(CallPrelude("leave"));
    api.PyErr_Clear();  // atexit has printed the exception
    is_over.store(true, std::memory_order_release);
  }
  PrepareExit(static_cast<int>(status));
}

}  // namespace dlpack::python
