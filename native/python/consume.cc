#include "consume.h"

#include <stdlib.h>

#include "../managed_tensor.h"
#include "runtime.h"

namespace dlpack {
namespace python {

// A Storage of Python's: its deleter may want the GIL, which finalizers must not wait for. Any thread.
template <class Managed>
static void DestroyFromPython(Storage* self) {
  Managed* managed = static_cast<Managed*>(self->owner);
  FreeStorage(self);
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
static TypeNode* types[kBuckets];  // guarded by the GIL

static bool HasAttribute(Object* object, Object* name) {
  Ref value(api.PyObject_GetAttr(object, name));
  if (!value) api.PyErr_Clear();
  return static_cast<bool>(value);
}

static DLPackExchangeAPI* FindTable(Object* type) {
  Ref attribute(api.PyObject_GetAttrString(type, "__dlpack_c_exchange_api__"));
  if (!attribute) {
    api.PyErr_Clear();
    return nullptr;
  }
  void* pointer = nullptr;
  if (api.PyCapsule_IsValid(attribute.get(), "dlpack_exchange_api")) {
    pointer = api.PyCapsule_GetPointer(attribute.get(), "dlpack_exchange_api");
  }
  auto* header = static_cast<DLPackExchangeAPIHeader*>(pointer);
  // A newer table may be followed by the one we know.
  while (header != nullptr && header->version.major != DLPACK_MAJOR_VERSION) header = header->prev_api;
  return reinterpret_cast<DLPackExchangeAPI*>(header);
}

const TypeEntry* LookUpType(Object* type) {
  TypeNode** bucket = &types[reinterpret_cast<uintptr_t>(type) / 64 % kBuckets];
  for (TypeNode* node = *bucket; node != nullptr; node = node->next) {
    if (node->entry.type == type) return &node->entry;
  }
  TypeNode* node = static_cast<TypeNode*>(malloc(sizeof(TypeNode)));
  if (node == nullptr) return nullptr;
  api.Py_IncRef(type);  // kept: its address must not become another type's
  node->entry.type = type;
  node->entry.api = FindTable(type);
  node->entry.checks_torch_bits = HasAttribute(type, names.requires_grad) && HasAttribute(type, names.is_neg);
  node->next = *bucket;
  *bucket = node;
  return &node->entry;
}

// True when the attribute, or what calling it returns, is True. False with an exception set on an error.
static bool IsTrue(Object* object, Object* name, bool call) {
  Ref value(call ? api.PyObject_VectorcallMethod(name, &object, 1, nullptr) : api.PyObject_GetAttr(object, name));
  return value && value.get() == api._Py_TrueStruct;
}

// What PyTorch's own export refuses or, for the neg bit, gets wrong. False with a BufferError set.
static bool CheckTorchBits(Object* object, bool may_be_complex) {
  const char* message = nullptr;
  if (IsTrue(object, names.requires_grad, false)) {
    message = "Expected a tensor without gradient but it has requires_grad; call detach() first";
  } else if (may_be_complex && !api.PyErr_Occurred() && IsTrue(object, names.is_conj, true)) {
    message = "Expected a tensor without conjugate bit but it has one; call resolve_conj() first";
  } else if (!api.PyErr_Occurred() && IsTrue(object, names.is_neg, true)) {
    message = "Expected a tensor without negative bit but it has one, and its values would have the wrong sign; call resolve_neg() first";
  }
  if (message != nullptr) api.PyErr_SetString(api.PyExc_BufferError, message);
  return message == nullptr && !api.PyErr_Occurred();
}

// Checks after the export, which is cheaper: then the dtype is known, and only complex tensors have a conjugate bit.
static Storage* ConsumeTable(const TypeEntry& entry, Object* object, Frame* frame) {
  DLManagedTensorVersioned* managed = nullptr;
  if (entry.api->managed_tensor_from_py_object_no_sync(object, &managed) != 0 || managed == nullptr) return nullptr;
  if (entry.checks_torch_bits && managed->version.major == DLPACK_MAJOR_VERSION &&
      !CheckTorchBits(object, managed->dl_tensor.dtype.code == kDLComplex)) {
    DeleteManaged(managed);
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
  const TypeEntry* entry = LookUpType(TypeOf(object));
  if (entry == nullptr) {
    frame->status = kOutOfMemory;
    return nullptr;
  }
  if (entry->api != nullptr && options.copy != 1 && !options.has_device) return ConsumeTable(*entry, object, frame);
  if (entry->checks_torch_bits && !CheckTorchBits(object, true)) return nullptr;
  Ref capsule(CallProducer(object, options));
  return capsule ? ConsumeCapsule(capsule.get(), frame) : nullptr;
}

}  // namespace python
}  // namespace dlpack
