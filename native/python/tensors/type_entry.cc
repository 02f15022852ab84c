#include "type_entry.h"

#include <stdlib.h>

#include "../interpreter/prelude.h"
#include "array_interface.h"
#include "numpy_array.h"

namespace dlpack::python {

std::atomic<TypeNode*> types[kTypeBuckets];

static DLPackExchangeAPI* FindTable(Object* type) {
  Ref attribute(GetOrNull(type, names.dlpack_api));
  void* pointer = nullptr;
  if (attribute && api.PyCapsule_IsValid(attribute.get(), "dlpack_exchange_api")) {
    pointer = api.PyCapsule_GetPointer(attribute.get(), "dlpack_exchange_api");
  }
  if (!attribute) {
    // Older producers store the address as an integer.
    Ref address(GetOrNull(type, names.dlpack_api_address));
    if (address && TypeOf(address.get()) == api.PyLong_Type) pointer = api.PyLong_AsVoidPtr(address.get());
    api.PyErr_Clear();
  }
  auto* header = static_cast<DLPackExchangeAPIHeader*>(pointer);
  // A newer table may link to the version that we know.
  while (header != nullptr && header->version.major != DLPACK_MAJOR_VERSION) header = header->prev_api;
  return reinterpret_cast<DLPackExchangeAPI*>(header);
}

// Whether a class overrides the __dlpack__ that belongs to its table. GIL held.
static bool OverridesMethod(Object* type) {
  const Ref found(CallPrelude("overrides_dlpack", type));
  api.PyErr_Clear();
  return found.get() == api._Py_TrueStruct;
}

TypeEntry* LookUpType(Object* type) {
  TypeEntry* found = FindType(type);
  if (found != nullptr) return found;
  TypeNode* node = static_cast<TypeNode*>(calloc(1, sizeof(TypeNode)));
  if (node == nullptr) return nullptr;
  api.Py_IncRef(type);  // never dropped, so that no other type gets the same address
  Ref requires_grad(GetOrNull(type, names.requires_grad));
  Ref is_neg(GetOrNull(type, names.is_neg));
  node->entry.type = type;
  node->entry.api = FindTable(type);
  node->entry.import_api = node->entry.api == nullptr || OverridesMethod(type) ? nullptr : node->entry.api;
  // Their arrays never change, but their capsules, those of JAX before 0.12, do not set the read-only flag.
  for (const char* module : {"jaxlib.", "tensorflow.", "nanoarrow."}) {
    if (HasText(type, "__module__", module, true)) node->entry.is_immutable = true;
  }
  node->entry.is_copy_wrong = HasText(type, "__module__", "pyarrow.", true);
  node->entry.is_host = HasText(type, "__module__", "numpy");
  node->entry.is_torch = requires_grad && is_neg;
  node->entry.is_neg = node->entry.is_torch ? is_neg.take() : nullptr;
  node->entry.is_numpy = node->entry.api == nullptr && IsNumPyArray(type);
  node->entry.is_cupy = node->entry.api == nullptr && IsCuPyArray(type);
  std::atomic<TypeNode*>& bucket = TypesLike(type);
  // Another thread may have added the same type meanwhile. Both entries are equal.
  node->next = bucket.load(std::memory_order_relaxed);
  while (!bucket.compare_exchange_weak(node->next, node, std::memory_order_release, std::memory_order_relaxed)) {
  }
  return &node->entry;
}

}  // namespace dlpack::python
