#include "prelude.h"

#include <stdio.h>

#include <atomic>

#include "../platform/platform.h"
#include "../signals.h"
#include "calls.h"
#include "function_type.h"
#include "tensor_type.h"

namespace dlpack::python {

namespace {

const char kSource[] = R"python(
def reduce_tensor(self, protocol):
    """In another process there is no dlpack.Tensor: it arrives as a NumPy array, with protocol 5 out of band."""
    if self.__dlpack_device__()[0] != 1:
        raise TypeError("cannot pickle a dlpack.Tensor in device memory; copy it to the host first: tensor.to('cpu')")
    import numpy
    array = numpy.asarray(self)
    name = self._ml_dtype
    if name is not None and array.dtype.kind == 'V':
        import ml_dtypes
        array = array.view(getattr(ml_dtypes, name))
    elif array.dtype.kind in 'OV':
        raise TypeError('cannot pickle a dlpack.Tensor of this dtype, which NumPy does not have; cast it first')
    return array.__reduce_ex__(protocol)

def reduce_error(self):
    """In another process there is no JavaScript: the text is what is left."""
    return RuntimeError, ('JavaScriptError: ' + str(self),)

Tensor.__reduce_ex__ = reduce_tensor
JavaScriptError.__reduce__ = reduce_error

def guard(module, name):
    original = getattr(module, name)
    def guarded(*arguments, **keywords):
        keep_signals()
        try:
            return original(*arguments, **keywords)
        finally:
            restore_signals()
    guarded.__name__ = guarded.__qualname__ = name
    guarded.__doc__ = original.__doc__
    guarded.__wrapped__ = original
    setattr(module, name, guarded)

def leave():
    """What Python does at its end before it destroys objects. Executors register with threading."""
    import atexit, sys
    for call in reversed(getattr(sys.modules.get('threading'), '_threading_atexits', ())):
        try:
            call()
        except BaseException:
            sys.excepthook(*sys.exc_info())
    atexit._run_exitfuncs()

if is_ours:
    import faulthandler, signal
    guard(signal, 'signal')
    guard(faulthandler, 'enable')
)python";

// Before Python code installs a handler. A library may have installed its own shortly before, which must not be
// remembered.
Object* KeepFromPython(Object*, Object*) {
  KeepSignals();
  return None();
}

Object* RestoreFromPython(Object*, Object*) {
  RestoreSignals();
  return None();
}

const int kNoArguments = 0x0004;
MethodDef keep = {"keep_signals", reinterpret_cast<void*>(KeepFromPython), kNoArguments, nullptr};
MethodDef restore = {"restore_signals", reinterpret_cast<void*>(RestoreFromPython), kNoArguments, nullptr};

// Takes the reference over.
bool Define(Object* names, const char* name, Object* value) {
  Ref ref(value);
  return ref && api.PyDict_SetItemString(names, name, value) == 0;
}

Object* leave;  // the function of the prelude
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

bool RunPrelude(bool is_ours) {
  const Ref globals(api.PyDict_New());
  const Ref code(NewString(kSource));
  const Ref exec(ImportFrom("builtins", "exec"));
  if (!globals || !code || !exec) return false;
  if (!Define(globals.get(), "Tensor", NewRef(TensorType())) ||
      !Define(globals.get(), "JavaScriptError", api.PyObject_GetAttrString(FunctionType(), "JavaScriptError")) ||
      !Define(globals.get(), "keep_signals", api.PyCFunction_NewEx(&keep, nullptr, nullptr)) ||
      !Define(globals.get(), "restore_signals", api.PyCFunction_NewEx(&restore, nullptr, nullptr)) ||
      !Define(globals.get(), "is_ours", api.PyBool_FromLong(is_ours)))
    return false;
  const Ref result(CallWith(exec, code.get(), globals.get()));
  Ref name(result ? api.PyUnicode_InternFromString("leave") : nullptr);
  leave = name ? api.PyObject_GetItem(globals.get(), name.get()) : nullptr;
  return leave != nullptr;
}

void RunExitFunctions(int status, uint32_t milliseconds) {
  if (has_run.exchange(true)) return;
  leaving = {status, milliseconds};
  platform::StartThread(Watch, nullptr);
  {
    Gil gil;
    RunDeferred();  // another thread must not drop objects of a library while its exit function runs
    const Ref result(CallWith(leave));
    api.PyErr_Clear();  // atexit has printed the exception
  }
  is_over.store(true, std::memory_order_release);
}

}  // namespace dlpack::python
