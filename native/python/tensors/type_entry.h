// What is known of the types of tensors, in a table for the process.
#pragma once

#include <atomic>

#include "../../abi/dlpack_abi.h"
#include "../../hidden.h"
#include "../interpreter/interpreter.h"

namespace dlpack::python {

// Values of TypeEntry::tensor_at besides numbers of bytes.
enum : int32_t { kUnprobed = 0, kNoTensor = -1 };

enum { kTorchDTypes = 48 };  // c10::ScalarType has as many numbers

// What is known of a type, cached for each type. `api` is its table, found through the chain of older versions, or
// NULL. `import_api` is the same table, but NULL for a subclass with a __dlpack__ of its own, which the table ignores.
// GIL held.
struct TypeEntry {
  Object* type;
  ::DLPackExchangeAPI* api;
  ::DLPackExchangeAPI* import_api;
  bool is_immutable;   // its tensors are shared read-only
  bool is_copy_wrong;  // its producer makes wrong copies, so none are requested
  bool is_host;        // never on a device
  bool is_numpy;       // numpy.ndarray, which numpy_array.h makes
  bool is_cupy;        // cupy.ndarray, which array_interface.h makes
  bool is_torch;       // has requires_grad, is_conj and is_neg, which the table does not check
  Object* is_neg;      // the method, unbound
  // Where objects of a PyTorch class have their at::Tensor, see torch_tensor.cc.
  std::atomic<int32_t> tensor_at;
  // The dtypes that the table gave for PyTorch's numbers; 0: none yet.
  std::atomic<uint32_t> dtypes[kTorchDTypes];
  Object* from_dlpack;  // of the module of the type; NULL until it is needed
};

// Lists that only grow. In a free-threaded build two threads may add a type at the same time.
struct TypeNode {
  TypeEntry entry;
  TypeNode* next;
};
enum { kTypeBuckets = 64 };
DLPACK_HIDDEN extern std::atomic<TypeNode*> types[kTypeBuckets];

// The list that has the entry of a type, if there is one.
inline std::atomic<TypeNode*>& TypesLike(Object* type) {
  return types[reinterpret_cast<uintptr_t>(type) / 64 % kTypeBuckets];
}

// The entry of a type that was looked up before; NULL for other types. In the header, because each import begins with
// it. Any thread, no GIL needed.
inline TypeEntry* FindType(Object* type) {
  for (TypeNode* node = TypesLike(type).load(std::memory_order_acquire); node != nullptr; node = node->next) {
    if (node->entry.type == type) return &node->entry;
  }
  return nullptr;
}

// The entry of a type. NULL when out of memory. The first lookup of a type runs Python code. GIL held.
TypeEntry* LookUpType(Object* type);

}  // namespace dlpack::python
