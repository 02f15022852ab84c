#include <atomic>

#include "../interpreter/prelude.h"
#include "conversion.h"
#include "numpy_array.h"

namespace dlpack::python {

// Written once each. The function is never dropped, so no other object gets its address.
static struct {
  const TypeEntry* entry;
  std::atomic<Object*> function;
} converters[kConverters];

const TypeEntry* FindConverter(Object* function) {
  for (const auto& converter : converters) {
    if (converter.function.load(std::memory_order_acquire) == function) return converter.entry;
  }
  return nullptr;
}

int NumberOfConverter(Object* function) {
  for (int i = 0; i < kConverters; ++i) {
    if (converters[i].function.load(std::memory_order_acquire) == function) return i;
  }
  const Ref found(CallPrelude("find_converter", function));
  long long number = kConverters;
  const TypeEntry* entry = nullptr;
  if (found && found.get() != api._Py_NoneStruct && ReadInteger(api.PyTuple_GetItem(found.get(), 0), &number))
    entry = LookUpType(api.PyTuple_GetItem(found.get(), 1));
  api.PyErr_Clear();
  const bool is_served = entry != nullptr && number < kConverters &&
                         (entry->api != nullptr || entry->is_cupy || (entry->is_numpy && IsVersionedNumPy()));
  if (!is_served || converters[number].function.load(std::memory_order_acquire) != nullptr) return -1;
  converters[number].entry = entry;
  converters[number].function.store(NewRef(function), std::memory_order_release);
  return static_cast<int>(number);
}

}  // namespace dlpack::python
