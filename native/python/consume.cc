#include "consume.h"

#include <stdlib.h>

#include <atomic>

#include "../managed_tensor.h"
#include "numpy_array.h"
#include "runtime.h"
#include "torch_bits.h"

namespace dlpack {
namespace python {

// A Storage of Python's: its deleter may want the GIL, which finalizers must not wait for. Any thread.
template <class Managed>
static void DestroyFromPython(Storage* self) {
  Managed* managed = static_cast<Managed*>(self->owner);
  free(self);
  Count(counts.imports, -1);
  if (FinalizerScope::IsActive()) {
    Defer([](void* argument) { DeleteManaged(static_cast<Managed*>(argument)); }, managed);
  } else {
    DeleteManaged(managed);
  }
}

template <class Managed>
static Storage* Import(Managed* managed, Frame* frame) {
  Storage* storage = ImportManaged(managed, frame);
  // One of our own that comes home is not Python's.
  if (storage != nullptr && storage->owner == managed) storage->destroy = DestroyFromPython<Managed>;
  return storage;
}

static const size_t kBuckets = 64;
struct TypeNode {
  TypeEntry entry;
  TypeNode* next;
};
// Lists that only grow. Without the GIL, in a free-threaded build, two threads may add a type at once.
static std::atomic<TypeNode*> types[kBuckets];

static Object* GetOrNull(Object* object, Object* name) {
  Object* value = api.PyObject_GetAttr(object, name);
  if (value == nullptr) api.PyErr_Clear();
  return value;
}

static DLPackExchangeAPI* FindTable(Object* type) {
  Ref attribute(GetOrNull(type, names.dlpack_api));
  void* pointer = nullptr;
  if (attribute && api.PyCapsule_IsValid(attribute.get(), "dlpack_exchange_api")) {
    pointer = api.PyCapsule_GetPointer(attribute.get(), "dlpack_exchange_api");
  }
  auto* header = static_cast<DLPackExchangeAPIHeader*>(pointer);
  // A newer table may be followed by the one we know.
  while (header != nullptr && header->version.major != DLPACK_MAJOR_VERSION) header = header->prev_api;
  return reinterpret_cast<DLPackExchangeAPI*>(header);
}

static std::atomic<TypeNode*>& BucketOf(Object* type) {
  return types[reinterpret_cast<uintptr_t>(type) / 64 % kBuckets];
}

TypeEntry* FindType(Object* type) {
  for (TypeNode* node = BucketOf(type).load(std::memory_order_acquire); node != nullptr; node = node->next) {
    if (node->entry.type == type) return &node->entry;
  }
  return nullptr;
}

TypeEntry* LookUpType(Object* type) {
  TypeEntry* found = FindType(type);
  if (found != nullptr) return found;
  TypeNode* node = static_cast<TypeNode*>(malloc(sizeof(TypeNode)));
  if (node == nullptr) return nullptr;
  api.Py_IncRef(type);  // kept: its address must not become another type's
  Ref requires_grad(GetOrNull(type, names.requires_grad));
  Ref is_neg(GetOrNull(type, names.is_neg));
  node->entry.type = type;
  node->entry.api = FindTable(type);
  node->entry.is_torch = requires_grad && is_neg;
  node->entry.is_neg = node->entry.is_torch ? is_neg.take() : nullptr;
  node->entry.is_numpy = node->entry.api == nullptr && IsNumPyArray(type);
  node->entry.from_dlpack = nullptr;
  std::atomic<TypeNode*>& bucket = BucketOf(type);
  // Another thread may have added the same type meanwhile: either entry will do.
  node->next = bucket.load(std::memory_order_relaxed);
  while (!bucket.compare_exchange_weak(node->next, node, std::memory_order_release, std::memory_order_relaxed)) {
  }
  return &node->entry;
}

static Storage* ConsumeTable(const TypeEntry& entry, Object* object, Frame* frame) {
  DLManagedTensorVersioned* managed = nullptr;
  if (entry.api->managed_tensor_from_py_object_no_sync(object, &managed) != 0 || managed == nullptr) return nullptr;
  if (entry.is_torch && managed->version.major == DLPACK_MAJOR_VERSION &&
      !CheckTorchBits(object, entry.is_neg, managed)) {
    // The deleter may run Python code, which must not meet the exception.
    Object *kind, *value, *traceback;
    api.PyErr_Fetch(&kind, &value, &traceback);
    DeleteManaged(managed);
    api.PyErr_Restore(kind, value, traceback);
    return nullptr;
  }
  return Import(managed, frame);
}

// object.__dlpack__(...) with what was asked for; without arguments where the producer does not know them.
static Object* CallProducer(Object* object, const ConsumeOptions& options) {
  Object* arguments[4] = {object, names.version_tuple, nullptr, nullptr};
  Object* keywords[3] = {names.max_version};
  ptrdiff_t count = 1;
  Ref device(options.has_device ? api.PyTuple_New(2) : nullptr);
  if (options.has_device) {
    if (!device) return nullptr;
    api.PyTuple_SetItem(device.get(), 0, api.PyLong_FromLongLong(options.device_type));
    api.PyTuple_SetItem(device.get(), 1, api.PyLong_FromLongLong(options.device_id));
    keywords[count] = names.dl_device;
    arguments[++count] = device.get();
  }
  if (options.copy >= 0) {
    keywords[count] = names.copy;
    arguments[++count] = options.copy != 0 ? api._Py_TrueStruct : api._Py_FalseStruct;
  }
  Ref kwnames(api.PyTuple_New(count));
  if (!kwnames) return nullptr;
  for (ptrdiff_t i = 0; i < count; ++i) {
    api.Py_IncRef(keywords[i]);
    api.PyTuple_SetItem(kwnames.get(), i, keywords[i]);
  }
  Object* capsule = api.PyObject_VectorcallMethod(names.dlpack, arguments, 1, kwnames.get());
  if (capsule == nullptr && !options.has_device && options.copy < 0 && api.PyErr_ExceptionMatches(api.PyExc_TypeError)) {
    api.PyErr_Clear();
    capsule = api.PyObject_VectorcallMethod(names.dlpack, arguments, 1, nullptr);
  }
  return capsule;
}

// The struct is chosen by the capsule's real name: producers may answer with another version than was asked for.
static Storage* ConsumeCapsule(Object* capsule, Frame* frame) {
  if (api.PyCapsule_IsValid(capsule, "dltensor_versioned")) {
    void* pointer = api.PyCapsule_GetPointer(capsule, "dltensor_versioned");
    if (api.PyCapsule_SetName(capsule, "used_dltensor_versioned") != 0) return nullptr;
    return Import(static_cast<DLManagedTensorVersioned*>(pointer), frame);
  }
  if (api.PyCapsule_IsValid(capsule, "dltensor")) {
    void* pointer = api.PyCapsule_GetPointer(capsule, "dltensor");
    if (api.PyCapsule_SetName(capsule, "used_dltensor") != 0) return nullptr;
    return Import(static_cast<DLManagedTensor*>(pointer), frame);
  }
  api.PyErr_SetString(api.PyExc_TypeError,
                      "Expected an unconsumed capsule named dltensor or dltensor_versioned from __dlpack__");
  return nullptr;
}

Storage* ConsumeObject(Object* object, const ConsumeOptions& options, Frame* frame) {
  frame->status = kOk;
  TypeEntry* entry = LookUpType(TypeOf(object));
  if (entry == nullptr) {
    frame->status = kOutOfMemory;
    return nullptr;
  }
  if (entry->api != nullptr && options.copy != 1 && !options.has_device) return ConsumeTable(*entry, object, frame);
  if (entry->is_torch && !CheckTorchBits(object, entry->is_neg, nullptr)) return nullptr;
  Ref capsule(CallProducer(object, options));
  return capsule ? ConsumeCapsule(capsule.get(), frame) : nullptr;
}

}  // namespace python
}  // namespace dlpack
