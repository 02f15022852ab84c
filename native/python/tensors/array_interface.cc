#include "array_interface.h"

#include "../calls/operation_scope.h"
#include "../interpreter/prelude.h"
#include "consume.h"
#include "device_exchange.h"
#include "dtypes.h"

namespace dlpack::python {

namespace {

struct CuPy {
  Object* array_type;
  Object* memory;   // UnownedMemory(pointer, size, owner, device); keeps the owner alive
  Object* pointer;  // MemoryPointer(memory, offset)
  Object* get_current_stream;
  Object* dtypes[kDTypeCount];
  Object* interface;  // the property __cuda_array_interface__; NULL: do not read arrays
  // How ndarray.__new__ makes an array, without its Python code: by the constructor of its base class, then by _init.
  // NULL in another version of CuPy.
  Object* (*make)(Object* type, Object* arguments, Object* keywords);
  Object* initialise;
  Object* no_arguments;
  // CuPy's functions for Cython: the current stream of a device, and of the current device. NULL in another version.
  intptr_t (*stream_of)(int device);
  intptr_t (*current_stream)();
};
CuPy cupy;  // written once, before a class is known as CuPy's

// The objects are never dropped.
bool LoadCuPy(Object* type) {
  Ref parts(CallPrelude("load_cupy", type));
  if (!parts) return false;
  const auto part = [&](ptrdiff_t i) {
    Object* found = api.PyTuple_GetItem(parts.get(), i);
    return found == api._Py_NoneStruct ? nullptr : found;
  };
  const auto function = [&](ptrdiff_t i, const char* signature) {
    const bool is_known = part(i) != nullptr && api.PyCapsule_IsValid(part(i), signature);
    return is_known ? api.PyCapsule_GetPointer(part(i), signature) : nullptr;
  };
  static const int kTypeNew = 65;  // Py_tp_new
  cupy.memory = part(0);
  cupy.pointer = part(1);
  cupy.get_current_stream = part(2);
  for (int i = 0; i < kDTypeCount; ++i) cupy.dtypes[i] = api.PyTuple_GetItem(part(3), i);
  cupy.interface = part(4);
  cupy.initialise = part(5);
  cupy.no_arguments = part(6);
  if (cupy.initialise != nullptr)
    cupy.make = reinterpret_cast<decltype(cupy.make)>(api.PyType_GetSlot(part(7), kTypeNew));
  cupy.stream_of = reinterpret_cast<decltype(cupy.stream_of)>(function(8, "intptr_t (int)"));
  cupy.current_stream = reinterpret_cast<decltype(cupy.current_stream)>(function(9, "intptr_t (void)"));
  cupy.array_type = type;  // the caller keeps the reference
  parts.take();
  return true;
}

enum { kCurrentDevice = -1 };

// CuPy's current stream on a device. False, perhaps with an exception set, on failure.
bool ReadCuPyStream(int device, cuda::StreamHandle* out) {
  long long handle = 0;
  if (cupy.stream_of != nullptr && cupy.current_stream != nullptr) {
    handle = device == kCurrentDevice ? cupy.current_stream() : cupy.stream_of(device);
    if (api.PyErr_Occurred()) return false;
  } else {
    const Ref number(api.PyLong_FromLongLong(device));
    const Ref stream(device == kCurrentDevice ? CallWith(cupy.get_current_stream)
                                              : CallWith(cupy.get_current_stream, number.get()));
    const Ref pointer(stream ? api.PyObject_GetAttr(stream.get(), names.ptr) : nullptr);
    if (!ReadInteger(pointer.get(), &handle)) return false;
  }
  *out = cuda::Normalize(reinterpret_cast<cuda::StreamHandle>(handle));
  return handle >= 0;
}

// ndarray(shape, dtype, pointer, strides), where `strides` may be NULL.
Object* MakeArray(Object* shape, Object* dtype, Object* pointer, Object* strides) {
  Ref array(cupy.make == nullptr ? nullptr : cupy.make(cupy.array_type, cupy.no_arguments, nullptr));
  Object* arguments[6] = {nullptr, array.get(), shape, dtype, pointer, strides};
  const size_t count = strides == nullptr ? 3 : 4;
  if (cupy.make == nullptr) return CallVector(cupy.array_type, arguments + 2, count, nullptr);
  const Ref done(array ? CallVector(cupy.initialise, arguments + 1, 1 + count, nullptr) : nullptr);
  return done ? array.take() : nullptr;
}

// An array as a CUDA Array Interface usually describes it.
struct PlainArray {
  DLTensor tensor;            // without a device; its strides are those below
  uint64_t flags;             // DLPACK_FLAG_BITMASK_*
  cuda::StreamHandle stream;  // NULL: no need to wait
  int64_t shape[kMaxNdim];
  int64_t strides[kMaxNdim];  // bytes
};

// Reads a tuple of integers of at most 2^53 - 1. Faster than ReadInteger, and only for ints themselves.
bool ReadIntegers(Object* tuple, int64_t* out, int32_t* count) {
  if (TypeOf(tuple) != api.PyTuple_Type) return false;
  const ptrdiff_t length = api.PyTuple_Size(tuple);
  if (length > kMaxNdim) return false;
  for (ptrdiff_t i = 0; i < length; ++i) {
    Object* value = api.PyTuple_GetItem(tuple, i);
    int overflow = 0;
    if (TypeOf(value) != api.PyLong_Type) return false;
    out[i] = api.PyLong_AsLongLongAndOverflow(value, &overflow);
    if (overflow != 0 || !IsSafeInteger(out[i])) return false;
  }
  *count = static_cast<int32_t>(length);
  return true;
}

// Strides may be None.
bool ReadDims(Object* shape, Object* strides, PlainArray* array) {
  DLTensor* tensor = &array->tensor;
  int32_t steps = 0;
  tensor->shape = array->shape;
  tensor->strides = strides == api._Py_NoneStruct ? nullptr : array->strides;
  return ReadIntegers(shape, array->shape, &tensor->ndim) &&
         (tensor->strides == nullptr || (ReadIntegers(strides, array->strides, &steps) && steps == tensor->ndim));
}

// Each of the two readers returns false, perhaps with an exception set, for an object that it cannot read.

// Reads a CuPy array from the attributes that its `__cuda_array_interface__` is made of, because making that dict takes
// three times as long. False also when the program has replaced the property.
bool ReadCuPyArray(Object* object, PlainArray* array) {
  const TypeEntry* entry = LookUpType(TypeOf(object));
  if (entry == nullptr || !entry->is_cupy || cupy.interface == nullptr) return false;
  const Ref property(api.PyObject_GetAttr(entry->type, names.cuda_array_interface));
  if (property.get() != cupy.interface) return false;
  const Ref shape(api.PyObject_GetAttr(object, names.shape));
  const Ref is_row_major(shape ? api.PyObject_GetAttr(object, names.c_contiguous) : nullptr);
  if (!is_row_major) return false;
  const Ref strides(is_row_major.get() == api._Py_TrueStruct ? None() : api.PyObject_GetAttr(object, names.strides));
  if (!strides || !ReadDims(shape.get(), strides.get(), array)) return false;
  const Ref dtype(api.PyObject_GetAttr(object, names.dtype));
  int i = 0;
  while (i < kDTypeCount && cupy.dtypes[i] != dtype.get()) ++i;
  if (i == kDTypeCount) return false;
  array->tensor.dtype = DLDataType{kDTypes[i].code, kDTypes[i].bits, 1};
  const Ref data(api.PyObject_GetAttr(object, names.data));
  const Ref pointer(data ? api.PyObject_GetAttr(data.get(), names.ptr) : nullptr);
  long long address = 0;
  if (!ReadInteger(pointer.get(), &address)) return false;
  array->tensor.data = reinterpret_cast<void*>(address);
  array->flags = 0;
  return ReadCuPyStream(kCurrentDevice, &array->stream);
}

// JavaScript reads the entries of an unusual interface one by one and reports errors.
bool ReadInterface(Object* object, PlainArray* array) {
  const Ref fields(CallPrelude("read_cuda_array", object));
  if (!fields || fields.get() == api._Py_NoneStruct) return false;
  const auto field = [&](ptrdiff_t i) { return api.PyTuple_GetItem(fields.get(), i); };
  long long address = 0, stream = 0, code = 0, bits = 0;
  if (!ReadDims(field(0), field(1), array) || !ReadPair(field(2), &code, &bits) ||
      !ReadPair(field(3), &address, &stream))
    return false;
  array->tensor.dtype = DLDataType{static_cast<uint8_t>(code), static_cast<uint8_t>(bits), 1};
  array->tensor.data = reinterpret_cast<void*>(address);
  array->stream = reinterpret_cast<cuda::StreamHandle>(stream);
  array->flags = field(4) == api._Py_TrueStruct ? DLPACK_FLAG_BITMASK_READ_ONLY : 0;
  return true;
}

// A storage for a plain array. Changes its strides to elements. NULL, without taking the reference, when the array
// cannot be imported.
Storage* WrapArray(PlainArray* array, Object* owner, const LayoutTable* layouts, Imported* imported) {
  DLTensor* tensor = &array->tensor;
  const int64_t address = reinterpret_cast<int64_t>(tensor->data), item = tensor->dtype.bits / 8;
  cuda::Location location;
  if (address < 4096) return nullptr;
  for (int32_t i = 0; i < tensor->ndim; ++i) {
    if (array->shape[i] <= 0) return nullptr;
    if (tensor->strides == nullptr) continue;
    if (array->strides[i] % item != 0) return nullptr;
    array->strides[i] /= item;
  }
  if (cuda::FindLocation(static_cast<uint64_t>(address), &location) != cuda::kSuccess ||
      !cuda::IsCudaDevice(location.kind))
    return nullptr;
  tensor->device = {location.kind, cuda::OrdinalOf(location.kind, location.ordinal)};
  tensor->byte_offset = 0;
  Status status;
  Storage* storage = WrapTensor(*tensor, array->flags, layouts, imported, &status, DropOwner, owner);
  if (storage == nullptr) return nullptr;
  const uint64_t before = reinterpret_cast<uint64_t>(storage->data) - location.start;
  const bool is_inside = location.size == 0 || (before <= location.size && storage->nbytes <= location.size - before);
  if (is_inside &&
      cuda::FollowProducer(storage, location.ordinal, tensor->device.device_id, array->stream) == cuda::kSuccess)
    return storage;
  storage->owner = nullptr;  // the reference stays with the caller
  ReleaseStorage(storage);
  return nullptr;
}

}  // namespace

bool IsCuPyArray(Object* type) {
  if (!HasText(type, "__name__", "ndarray") || !HasText(type, "__module__", "cupy")) return false;
  const bool is_known = cupy.array_type == type || (cupy.array_type == nullptr && LoadCuPy(type));
  api.PyErr_Clear();
  return is_known;
}

bool FitsCuPy(Object* tensor) {
  const Body& body = *BodyOf(tensor);
  // An array without elements has no memory.
  return body.tensor.data != nullptr && body.tensor.device.device_type == kDLCUDA &&
         (body.flags & DLPACK_FLAG_BITMASK_READ_ONLY) == 0 && FindDType(body.tensor.dtype) >= 0;
}

Object* NewCuPyArray(Object* tensor) {
  const Body& body = *BodyOf(tensor);
  const DLTensor& described = body.tensor;
  const Storage* storage = body.storage;
  cuda::StreamHandle stream = nullptr;
  if (!ReadCuPyStream(described.device.device_id, &stream) || !HandOver(body.storage, described.device, stream))
    return nullptr;
  const auto first = static_cast<char*>(described.data) + described.byte_offset;
  const Ref device(api.PyLong_FromLongLong(described.device.device_id));
  const Ref start(api.PyLong_FromVoidPtr(storage->data));
  const Ref size(api.PyLong_FromLongLong(static_cast<long long>(storage->nbytes)));
  const Ref offset(api.PyLong_FromLongLong(first - static_cast<char*>(storage->data)));
  const Ref shape(IntegerTuple(described.shape, described.ndim));
  if (!device || !start || !size || !offset || !shape) return nullptr;
  const Ref memory(CallWith(cupy.memory, start.get(), size.get(), tensor, device.get()));
  const Ref pointer(memory ? CallWith(cupy.pointer, memory.get(), offset.get()) : nullptr);
  if (!pointer) return nullptr;
  const bool is_row_major = IsRowMajor(described);
  const Ref strides(is_row_major ? nullptr : IntegerTuple(described.strides, described.ndim, described.dtype.bits / 8));
  if (!is_row_major && !strides) return nullptr;
  return MakeArray(shape.get(), cupy.dtypes[FindDType(described.dtype)], pointer.get(), strides.get());
}

Storage* TakeInterface(Object* object, const LayoutTable* layouts, Imported* imported) {
  if (!cuda::IsLoaded()) return nullptr;
  Ref owner(NewRef(object));
  PlainArray array;
  bool is_plain = ReadCuPyArray(object, &array);
  if (!is_plain) {
    api.PyErr_Clear();
    is_plain = ReadInterface(object, &array);
    api.PyErr_Clear();  // the caller reports a refused interface
  }
  Storage* storage = is_plain ? WrapArray(&array, object, layouts, imported) : nullptr;
  if (storage != nullptr) owner.take();
  return storage;
}

bool TakeArray(Objects* self, napi_env, uint32_t handle) {
  TensorResult* result = MessageOf<TensorResult>(self->instance);
  OperationScope scope(self);
  Object* object = GetObject(self, handle);
  Imported imported;
  Storage* storage = object == nullptr ? nullptr : TakeInterface(object, &self->instance->layouts, &imported);
  return storage != nullptr && GiveTensor(self->instance, storage, kOk, imported, &result->tensor) == kOk;
}

uint32_t KeepObject(Objects* self, napi_env, uint32_t handle) {
  Gil gil;
  Object* object = GetObject(self, handle);
  Storage* storage = object == nullptr ? nullptr : WrapStorage(nullptr, 0, DropOwner, object, 0);
  if (storage == nullptr) return 0;
  api.Py_IncRef(object);
  Count(Counter::kImports, 1);
  return Hold(self->instance, storage, false);
}

}  // namespace dlpack::python
