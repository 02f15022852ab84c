#include "consume.h"

#include <stdlib.h>

#include "../calls/operation_scope.h"
#include "../interpreter/prelude.h"
#include "array_interface.h"
#include "device_exchange.h"
#include "numpy_array.h"
#include "torch_tensor.h"

namespace dlpack::python {

// Destroys a storage of Python memory. Its deleter may need the GIL, and finalizers must not wait for the GIL. Any
// thread.
template <class Managed>
static void DestroyFromPython(Storage* self) {
  Managed* managed = static_cast<Managed*>(self->owner);
  FreeStorage(self);
  Count(Counter::kImports, -1);
  if (FinalizerScope::IsActive()) {
    Defer([](void* argument) { DeleteManaged(static_cast<Managed*>(argument)); }, managed);
  } else {
    DeleteManaged(managed);
  }
}

template <class Managed>
static Storage* Import(Managed* managed, const LayoutTable* layouts, Imported* imported, Status* status) {
  Storage* storage = ImportManaged(managed, layouts, imported, status);
  // A tensor of our own that comes back is not Python memory.
  if (storage != nullptr && storage->owner == managed) storage->destroy = DestroyFromPython<Managed>;
  return storage;
}

void DropOwner(Storage* self) {
  Object* owner = static_cast<Object*>(self->owner);
  ThreadCache* thread = this_thread;
  GiveBlockBack(thread, kSmallBlock, self);
  Count(thread, Counter::kImports, -1);
  if (owner == nullptr) return;
  if (ReturnScope::Leave(thread)) {
    api.Py_DecRef(owner);
  } else if (FinalizerScope::IsActive()) {
    DeferDecRef(owner);
  } else {
    Gil gil;
    api.Py_DecRef(owner);
  }
}

// PyTorch's table refuses sparse, quantized and meta tensors with a RuntimeError that contains a C++ stack. Its
// __dlpack__ raises the same error in one line, which replaces the exception. If __dlpack__ raises nothing, the
// exception stays.
static void ExplainTorch(Object* object) {
  if (!api.PyErr_ExceptionMatches(api.PyExc_RuntimeError)) return;
  SavedError error;
  Ref capsule(api.PyObject_VectorcallMethod(names.dlpack, &object, 1, nullptr));
  if (!capsule) error.Drop();
}

// What an import uses of the thread that it runs on. A thread without JavaScript has neither.
struct Importer {
  const LayoutTable* layouts;
  ThreadCache* thread;
};

// A storage over the tensor of an object, which takes over the reference to the object; NULL when it was refused.
static Storage* Keep(Ref* object, const DLTensor& tensor, uint64_t flags, Imported* imported, Status* status,
                     const Importer& importer) {
  Storage* storage =
      WrapTensor(tensor, flags, importer.layouts, imported, status, DropOwner, object->get(), importer.thread);
  if (storage != nullptr) object->take();
  return storage;
}

// The tensor of a PyTorch object on the host, which the storage keeps alive. A managed tensor of PyTorch keeps the same
// object, but costs an allocation and takes the GIL twice more. NULL when there has to be a managed tensor, or with an
// exception set. The description points into the object, so no Python code runs before it is copied.
static Storage* ConsumeTorch(TypeEntry* entry, Ref* owned, Imported* imported, Status* status,
                             const Importer& importer) {
  DLTensor tensor;
  Object* object = owned->get();
  const TorchMemory memory = DescribeTorch(object, entry, &tensor);
  if (memory == TorchMemory::kDevice) return nullptr;
  if (memory == TorchMemory::kUnknown) {
    if (entry->api->dltensor_from_py_object_no_sync(object, &tensor) != 0) {
      ExplainTorch(object);
      return nullptr;
    }
    if (tensor.device.device_type != kDLCPU) return nullptr;
    LearnDType(object, entry, tensor.dtype);
  }
  return Keep(owned, tensor, 0, imported, status, importer);
}

static Storage* ConsumeTable(TypeEntry* entry, Ref* owned, Imported* imported, Status* status,
                             const Importer& importer) {
  Object* object = owned->get();
  // First, because the check may run Python code, which may give the tensor other memory.
  if (entry->is_torch && !CheckTorchBits(object, entry)) return nullptr;
  if (entry->is_torch && entry->api->dltensor_from_py_object_no_sync != nullptr) {
    Storage* storage = ConsumeTorch(entry, owned, imported, status, importer);
    if (storage != nullptr || *status != kOk || api.PyErr_Occurred()) return storage;
  }
  DLManagedTensorVersioned* managed = nullptr;
  if (entry->api->managed_tensor_from_py_object_no_sync(object, &managed) != 0 || managed == nullptr) {
    if (entry->is_torch) ExplainTorch(object);
    return nullptr;
  }
  return FollowProducer(Import(managed, importer.layouts, imported, status), imported->tensor, entry->api);
}

// The tensor of a NumPy array without a capsule; NULL, without an exception, when NumPy's own code has to export it.
static Storage* ConsumeArray(Ref* array, Imported* imported, const Importer& importer) {
  DLTensor tensor;
  int64_t strides[32];
  uint64_t flags;
  Status status;
  if (!IsVersionedNumPy() || !ReadNumPyArray(array->get(), &tensor, strides, &flags)) return nullptr;
  return Keep(array, tensor, flags, imported, &status, importer);
}

// Calls object.__dlpack__(...) with the requested arguments, or without the newer arguments if the producer does not
// know them. fromDLPack then checks the result: it makes a missing copy itself, and refuses another device.
static Object* CallProducer(Object* object, const ConsumeOptions& options, Object* stream) {
  Object* arguments[5] = {object, names.version_tuple};
  Object* keywords[4] = {names.max_version};
  ptrdiff_t count = 1;
  const auto add = [&](Object* name, Object* value) {
    keywords[count] = name;
    arguments[++count] = value;
  };
  const int64_t wanted[] = {options.device_type, options.device_id};
  const Ref device(options.has_device ? IntegerTuple(wanted, 2) : nullptr);
  if (options.has_device && !device) return nullptr;
  if (stream != nullptr) add(names.stream, stream);
  if (options.has_device) add(names.dl_device, device.get());
  if (options.copy >= 0) add(names.copy, options.copy != 0 ? api._Py_TrueStruct : api._Py_FalseStruct);
  const Ref kwnames(MakeTuple(count, [&](ptrdiff_t i) { return NewRef(keywords[i]); }));
  if (!kwnames) return nullptr;
  Object* capsule = api.PyObject_VectorcallMethod(names.dlpack, arguments, 1, kwnames.get());
  if (capsule != nullptr || !api.PyErr_ExceptionMatches(api.PyExc_TypeError)) return capsule;
  api.PyErr_Clear();
  if (stream == nullptr) return api.PyObject_VectorcallMethod(names.dlpack, arguments, 1, nullptr);
  arguments[1] = stream;
  const Ref stream_name(TupleOf(NewRef(names.stream)));
  return stream_name ? api.PyObject_VectorcallMethod(names.dlpack, arguments, 1, stream_name.get()) : nullptr;
}

// As CallProducer. If the producer cannot make a copy (TVM-FFI; TensorFlow, with another error) or makes a wrong copy
// (Arrow, of tensors with gaps), this takes the tensor itself and fromDLPack copies it.
static Object* CallForCopy(Object* object, const ConsumeOptions& options, Object* stream, bool is_copy_wrong) {
  ConsumeOptions plain = options;
  if (options.copy == 1) plain.copy = -1;
  Object* capsule = CallProducer(object, is_copy_wrong ? plain : options, stream);
  if (capsule != nullptr || options.copy != 1) return capsule;
  if (!api.PyErr_ExceptionMatches(api.PyExc_BufferError) && !api.PyErr_ExceptionMatches(api.PyExc_RuntimeError))
    return nullptr;
  SavedError error;  // more helpful than the error of a second call
  capsule = CallProducer(object, plain, stream);
  if (capsule != nullptr) error.Drop();
  return capsule;
}

// Chooses the struct by the capsule's name, because producers may return another version than requested.
static Storage* ConsumeCapsule(Object* capsule, Imported* imported, Status* status) {
  const bool is_versioned = api.PyCapsule_IsValid(capsule, "dltensor_versioned");
  const char* name = is_versioned ? "dltensor_versioned" : "dltensor";
  if (!api.PyCapsule_IsValid(capsule, name))
    return Raise(api.PyExc_TypeError,
                 "Expected a capsule named dltensor or dltensor_versioned that nothing has consumed yet");
  void* pointer = api.PyCapsule_GetPointer(capsule, name);
  if (api.PyCapsule_SetName(capsule, is_versioned ? "used_dltensor_versioned" : "used_dltensor") != 0) return nullptr;
  return is_versioned ? Import(static_cast<DLManagedTensorVersioned*>(pointer), nullptr, imported, status)
                      : Import(static_cast<DLManagedTensor*>(pointer), nullptr, imported, status);
}

// As ConsumeCapsule, and drops the capsule. Its destructor may run Python code, which must not run with an exception
// set.
static Storage* TakeCapsule(Object* capsule, Imported* imported, Status* status) {
  if (capsule == nullptr) return nullptr;
  Storage* storage = ConsumeCapsule(capsule, imported, status);
  SavedError error;
  api.Py_DecRef(capsule);
  return storage;
}

// Called after NumPy refused with a BufferError. The exception stays set unless the array has a dtype of ml_dtypes.
static Storage* ConsumeMlDTypes(Object* array, const ConsumeOptions& options, Imported* imported, Status* status) {
  SavedError error;
  const Ref found(CallPrelude("view_ml_dtype", array));
  api.PyErr_Clear();
  long long code, bits;
  if (!found || found.get() == api._Py_NoneStruct || !ReadPair(api.PyTuple_GetItem(found.get(), 1), &code, &bits))
    return nullptr;
  error.Drop();
  Object* view = api.PyTuple_GetItem(found.get(), 0);
  Storage* storage = TakeCapsule(CallProducer(view, options, nullptr), imported, status);
  if (storage == nullptr) return nullptr;
  Layout* layout = imported->OwnLayout();
  layout->dtype.code = static_cast<uint8_t>(code);
  layout->dtype.bits = static_cast<uint8_t>(bits);
  if (bits < 8) layout->flags |= DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED;
  return storage;
}

// Views an object without __dlpack__ as a NumPy array. A new reference; or NULL with an exception set, or with the
// storage of a CUDA array in `taken`.
static Object* ViewAsArray(Object* object, const LayoutTable* layouts, Imported* imported, Storage** taken) {
  SavedError error;  // the error for the missing __dlpack__
  const Ref on_device(GetOrNull(object, names.cuda_array_interface));
  if (on_device) {
    *taken = TakeInterface(object, layouts, imported);
    error.Drop();
    if (*taken != nullptr) return nullptr;
    return Raise(api.PyExc_TypeError,
                 "Expected an object with __dlpack__ but it has __cuda_array_interface__ alone; take it with "
                 "asCudaArray of dlpack/cuda");
  }
  Ref array(CallPrelude("view_as_array", object));
  if (array.get() == api._Py_NoneStruct) return nullptr;
  error.Drop();
  return array.take();
}

static Storage* ConsumeMethod(TypeEntry* entry, Object* object, const ConsumeOptions& options, Imported* imported,
                              Status* status) {
  if (entry->is_torch && !CheckTorchBits(object, entry)) return nullptr;
  // For a transfer to another device the producer orders its streams itself.
  Ref stream(options.stream != 0                    ? api.PyLong_FromLongLong(options.stream)
             : entry->is_host || options.has_device ? nullptr
                                                    : StreamArgument(object));
  Object* capsule = CallForCopy(object, options, stream.get(), entry->is_copy_wrong);
  if (capsule == nullptr && api.PyErr_ExceptionMatches(api.PyExc_BufferError)) {
    return ConsumeMlDTypes(object, options, imported, status);
  }
  Storage* storage = FollowProducer(TakeCapsule(capsule, imported, status), imported->tensor, nullptr);
  if (storage == nullptr || !entry->is_immutable) return storage;
  uint32_t& flags = imported->OwnLayout()->flags;
  if (options.copy != 1) flags |= DLPACK_FLAG_BITMASK_READ_ONLY;
  // JAX marks its copies as read-only, too, but a copy that it made for us is nobody else's.
  if (options.copy == 1 && (flags & DLPACK_FLAG_BITMASK_IS_COPIED) != 0) flags &= ~DLPACK_FLAG_BITMASK_READ_ONLY;
  return storage;
}

// Whether the fields of a host tensor answer the request.
static bool IsPlain(const ConsumeOptions& options) {
  return options.copy != 1 && !options.has_device && options.stream == 0;
}

// Imports the tensor of an object; the result owns it, and may take over the reference to the object. NULL with the
// reason in `status`, or with a Python exception set and `status` kOk.
static Storage* ConsumeObject(Ref* owned, const ConsumeOptions& options, Imported* imported, Status* status,
                              const Importer& importer) {
  Object* object = owned->get();
  *status = kOk;
  if (TypeOf(object) == api.PyCapsule_Type) {
    return FollowProducer(TakeCapsule(NewRef(object), imported, status), imported->tensor, nullptr);
  }
  TypeEntry* entry = LookUpType(TypeOf(object));
  if (entry == nullptr) {
    *status = kOutOfMemory;
    return nullptr;
  }
  const bool is_plain = IsPlain(options);
  if (is_plain && entry->import_api != nullptr) return ConsumeTable(entry, owned, imported, status, importer);
  Storage* storage = is_plain && entry->is_numpy ? ConsumeArray(owned, imported, importer) : nullptr;
  if (storage != nullptr) return storage;
  storage = ConsumeMethod(entry, object, options, imported, status);
  if (storage != nullptr || *status != kOk || !api.PyErr_ExceptionMatches(api.PyExc_AttributeError)) return storage;
  {
    SavedError error;
    Ref method(GetOrNull(entry->type, names.dlpack));
    if (method) return nullptr;  // the exception comes from the producer's code
  }
  Ref array(ViewAsArray(object, importer.layouts, imported, &storage));
  if (storage != nullptr) return storage;
  TypeEntry* array_entry = array ? LookUpType(TypeOf(array.get())) : nullptr;
  return array_entry == nullptr ? nullptr : ConsumeMethod(array_entry, array.get(), options, imported, status);
}

bool ConsumeTensor(Objects* self, Object* object, const ConsumeOptions& options, TensorResult* result) {
  Imported imported;
  Status status;
  Ref owned(object);
  Storage* storage =
      ConsumeObject(&owned, options, &imported, &status, {&self->instance->layouts, self->instance->thread});
  // Before the object is dropped, whose destructor may run JavaScript.
  result->status = GiveTensor(self->instance, storage, status, imported, &result->tensor);
  if (storage != nullptr) {
    owned.reset(nullptr);
  } else {
    SavedError error;  // a destructor must not see an exception
    owned.reset(nullptr);
  }
  return storage != nullptr;
}

bool ImportAnywhere(Object* object, CarriedTensor* out) {
  Ref owned(object);
  const Ref stream(StreamArgument(object));
  if (stream) {
    out->object = owned.take();
    return true;
  }
  out->storage = ConsumeObject(&owned, {-1, false, 0, 0, 0}, &out->imported, &out->status, {nullptr, this_thread});
  SavedError error;  // a destructor must not see an exception
  owned.reset(nullptr);
  return out->storage != nullptr || out->status != kOk;
}

// As CanDescribe, and describes the tensor. No GIL needed after CanDescribe, while the object is alive.
static bool DescribeNow(Object* object, DLTensor* tensor, int64_t* strides, uint64_t* flags) {
  TypeEntry* entry = FindType(TypeOf(object));  // BytesBehind has looked it up
  if (entry == nullptr) return false;
  if (entry->is_numpy) return IsVersionedNumPy() && ReadNumPyArray(object, tensor, strides, flags);
  *flags = 0;
  return entry->is_torch && entry->import_api != nullptr && IsPlainTorch(object, entry) &&
         DescribeTorch(object, entry, tensor) == TorchMemory::kHost;
}

bool CanDescribe(Object* object) {
  DLTensor tensor;
  int64_t strides[32];
  uint64_t flags;
  const bool can = DescribeNow(object, &tensor, strides, &flags);
  api.PyErr_Clear();
  return can;
}

// Imports the tensor of an object with a spare reference, which the storage takes over. False without an effect when
// the import needs the GIL. JavaScript thread, no GIL.
static bool TakeWithoutGil(Objects* self, uint32_t handle, TensorResult* result) {
  Object* object = TakeSpare(self, handle);
  if (object == nullptr) return false;
  DLTensor tensor;
  int64_t strides[32];
  uint64_t flags;
  Imported imported;
  Status status;
  Storage* storage = nullptr;
  if (DescribeNow(object, &tensor, strides, &flags)) {
    storage = WrapTensor(tensor, flags, &self->instance->layouts, &imported, &status, DropOwner, object,
                         self->instance->thread);
  }
  if (storage == nullptr) {
    self->table.Find(handle)->has_spare = true;
    return false;
  }
  result->status = GiveTensor(self->instance, storage, kOk, imported, &result->tensor);
  return true;
}

napi_value Consume(napi_env env, napi_callback_info info) {
  Objects* self = ObjectsOf(env, info);
  ConsumeRequest* request = MessageOf<ConsumeRequest>(self->instance);
  TensorResult* result = MessageAt<TensorResult>(self->instance, request->tensor_slot);
  const ConsumeOptions options = {request->copy, request->device_type != 0, request->device_type, request->device_id,
                                  static_cast<int64_t>(request->stream)};
  request->failed = 0;
  if (IsPlain(options) && TakeWithoutGil(self, request->object, result)) return nullptr;
  OperationScope scope(self);
  Object* object = NewReference(self, request->object);
  if (object == nullptr) {
    result->status = kConsumed;
    return nullptr;
  }
  if (ConsumeTensor(self, object, options, result)) return nullptr;
  return api.PyErr_Occurred() ? TakeException(env, self, reinterpret_cast<Outcome*>(request)) : nullptr;
}

}  // namespace dlpack::python
