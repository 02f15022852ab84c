#include "converters.h"

#include <atomic>

#include "calls.h"
#include "numpy_array.h"
#include "values.h"

namespace dlpack::python {

namespace {

struct Library {
  const char* name;
  const char* class_name;
  const char* module;         // where the function is defined
  const char* function_type;  // the name of its type
};
const Library kLibraries[] = {
    {"numpy", "ndarray", "numpy", "builtin_function_or_method"},
    {"torch", "Tensor", "torch.utils.dlpack", "function"},
    {"cupy", "ndarray", "cupy._core.dlpack", "builtin_function_or_method"},
    {"cupy", "ndarray", "cupy._core.dlpack", "cython_function_or_method"},
};
static_assert(sizeof(kLibraries) / sizeof(kLibraries[0]) == kConverters, "each converter has a number");

// Written once each. The function is never dropped, so no other object gets its address.
struct Converter {
  const TypeEntry* entry;
  std::atomic<Object*> function;
};
Converter converters[kConverters];

// Whether a function written in Python is defined in the module whose name it has. functools.wraps copies the name to
// another function, but not its globals.
bool IsAtHome(Object* function, const char* module_name) {
  const Ref own(ImportFrom(module_name, "__dict__"));
  const Ref globals(own ? api.PyObject_GetAttrString(function, "__globals__") : nullptr);
  return globals && globals.get() == own.get();
}

bool IsFunctionOf(const Library& library, Object* function) {
  return HasText(function, "__module__", library.module) && HasText(function, "__name__", "from_dlpack") &&
         HasText(TypeOf(function), "__name__", library.function_type) &&
         (library.function_type[0] != 'f' || IsAtHome(function, library.module));
}

// The entry of the class whose objects the function makes; NULL when native code cannot make the same objects.
const TypeEntry* EntryOf(const Library& library) {
  const Ref type(ImportFrom(library.name, library.class_name));
  const TypeEntry* entry = type ? LookUpType(type.get()) : nullptr;
  if (entry == nullptr) return nullptr;
  return entry->api != nullptr || entry->is_cupy || (entry->is_numpy && IsVersionedNumPy()) ? entry : nullptr;
}

}  // namespace

const TypeEntry* FindConverter(Object* function) {
  for (Converter& converter : converters) {
    if (converter.function.load(std::memory_order_acquire) == function) return converter.entry;
  }
  return nullptr;
}

int NumberOfConverter(Object* function) {
  for (int i = 0; i < kConverters; ++i) {
    if (converters[i].function.load(std::memory_order_acquire) == function) return i;
  }
  for (int i = 0; i < kConverters; ++i) {
    if (converters[i].function.load(std::memory_order_acquire) != nullptr || !IsFunctionOf(kLibraries[i], function))
      continue;
    const TypeEntry* entry = EntryOf(kLibraries[i]);
    api.PyErr_Clear();
    if (entry == nullptr) return -1;
    converters[i].entry = entry;
    converters[i].function.store(NewRef(function), std::memory_order_release);
    return i;
  }
  api.PyErr_Clear();
  return -1;
}

}  // namespace dlpack::python
