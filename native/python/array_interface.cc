#include "array_interface.h"

#include "calls.h"

namespace dlpack::python {

Object* const* InterfaceKeys() {
  static const char* const kNames[] = {"shape", "typestr", "descr", "stream", "version", "strides", "data", "mask"};
  static_assert(sizeof(kNames) / sizeof(kNames[0]) == kInterfaceKeys, "each entry has a name");
  static Object* keys[kInterfaceKeys];
  for (int i = 0; i < kInterfaceKeys && keys[kInterfaceKeys - 1] == nullptr; ++i) {
    keys[i] = api.PyUnicode_InternFromString(kNames[i]);
    if (keys[i] == nullptr) return nullptr;
  }
  return keys;
}

bool SetEntry(Object* dict, Object* key, Object* value) {
  const Ref ref(value);
  return ref && api.PyDict_SetItem(dict, key, value) == 0;
}

Object* NewInterface(const Body& body, const void* data, const char* typestr, int64_t item) {
  const DLTensor& tensor = body.tensor;
  Object* const* keys = InterfaceKeys();
  Ref dict(keys == nullptr ? nullptr : api.PyDict_New());
  Ref place(dict ? api.PyTuple_New(2) : nullptr);
  if (!place) return nullptr;
  api.PyTuple_SetItem(place.get(), 0, api.PyLong_FromVoidPtr(const_cast<void*>(data)));
  api.PyTuple_SetItem(place.get(), 1, api.PyBool_FromLong((body.flags & DLPACK_FLAG_BITMASK_READ_ONLY) != 0));
  // None for row-major tensors, because some libraries, such as PIL, copy when strides are given.
  Object* strides = IsRowMajor(tensor) ? None() : IntegerTuple(tensor.strides, tensor.ndim, item);
  // No early exit: SetEntry takes over the reference of each value.
  bool good = SetEntry(dict.get(), keys[kStrides], strides);
  good &= SetEntry(dict.get(), keys[kTypestr], NewString(typestr));
  good &= SetEntry(dict.get(), keys[kShape], IntegerTuple(tensor.shape, tensor.ndim, 1));
  good &= SetEntry(dict.get(), keys[kVersion], api.PyLong_FromLongLong(3));
  good &= SetEntry(dict.get(), keys[kData], place.take());
  return good ? dict.take() : nullptr;
}

}  // namespace dlpack::python
