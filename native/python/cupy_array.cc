#include "cupy_array.h"

#include "calls.h"
#include "consume.h"
#include "cuda_array.h"
#include "device_exchange.h"
#include "dtypes.h"
#include "prelude.h"
#include "tensor_type.h"

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
bool Load(Object* type) {
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

// The handle of CuPy's current stream on a device, or on the current device (`device` NULL). False with an exception
// set.
bool ReadStream(Object* device, long long* handle) {
  if (device == nullptr && cupy.current_stream != nullptr) {
    *handle = cupy.current_stream();
    return api.PyErr_Occurred() == nullptr && *handle >= 0;
  }
  const Ref stream(device == nullptr ? CallWith(cupy.get_current_stream) : CallWith(cupy.get_current_stream, device));
  const Ref pointer(stream ? api.PyObject_GetAttr(stream.get(), names.ptr) : nullptr);
  return ReadInteger(pointer.get(), handle) && *handle >= 0;
}

// The current stream of CuPy waits for our work on the memory.
bool OfferToCuPy(const Body& body, Object* device) {
  long long handle = 0;
  if (cupy.stream_of != nullptr) {
    handle = cupy.stream_of(body.tensor.device.device_id);
    if (handle < 0 || api.PyErr_Occurred() != nullptr) return false;
  } else if (!ReadStream(device, &handle)) {
    return false;
  }
  const auto named = reinterpret_cast<ConsumerStream>(static_cast<uintptr_t>(handle));
  return HandOver(body.storage, body.tensor.device, cuda::Normalize(named));
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

// The address in `data.ptr`; 0 on failure.
uint64_t ReadPointer(Object* object) {
  const Ref data(api.PyObject_GetAttr(object, names.data));
  const Ref pointer(data ? api.PyObject_GetAttr(data.get(), names.ptr) : nullptr);
  long long address = 0;
  return ReadInteger(pointer.get(), &address) && address > 0 ? static_cast<uint64_t>(address) : 0;
}

bool ReadDType(Object* object, DLDataType* dtype) {
  Ref found(api.PyObject_GetAttr(object, names.dtype));
  for (int i = 0; found && i < kDTypeCount; ++i) {
    if (cupy.dtypes[i] != found.get()) continue;
    *dtype = DLDataType{kDTypes[i].code, kDTypes[i].bits, 1};
    return true;
  }
  return false;
}

}  // namespace

bool IsCuPyArray(Object* type) {
  if (!HasText(type, "__name__", "ndarray") || !HasText(type, "__module__", "cupy")) return false;
  const bool is_known = cupy.array_type == type || (cupy.array_type == nullptr && Load(type));
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
  Ref device(api.PyLong_FromLongLong(described.device.device_id));
  if (!device || !OfferToCuPy(body, device.get())) return nullptr;
  const Storage* storage = body.storage;
  const auto first = static_cast<char*>(described.data) + described.byte_offset;
  Ref start(api.PyLong_FromVoidPtr(storage->data));
  Ref size(api.PyLong_FromLongLong(static_cast<long long>(storage->nbytes)));
  Ref offset(api.PyLong_FromLongLong(first - static_cast<char*>(storage->data)));
  Ref shape(IntegerTuple(described.shape, described.ndim));
  if (!start || !size || !offset || !shape) return nullptr;
  const Ref memory(CallWith(cupy.memory, start.get(), size.get(), tensor, device.get()));
  const Ref pointer(memory ? CallWith(cupy.pointer, memory.get(), offset.get()) : nullptr);
  if (!pointer) return nullptr;
  const bool is_row_major = IsRowMajor(described);
  Ref strides(is_row_major ? nullptr : IntegerTuple(described.strides, described.ndim, described.dtype.bits / 8));
  if (!is_row_major && !strides) return nullptr;
  return MakeArray(shape.get(), cupy.dtypes[FindDType(described.dtype)], pointer.get(), strides.get());
}

bool ReadCuPyArray(Object* object, PlainArray* array) {
  const TypeEntry* entry = LookUpType(TypeOf(object));
  if (entry == nullptr || !entry->is_cupy || cupy.interface == nullptr) return false;
  Ref property(api.PyObject_GetAttr(entry->type, names.cuda_array_interface));
  if (property.get() != cupy.interface) return false;
  long long stream = 0;
  Ref shape(api.PyObject_GetAttr(object, names.shape));
  Ref is_row_major(shape ? api.PyObject_GetAttr(object, names.c_contiguous) : nullptr);
  if (!is_row_major) return false;
  Ref strides(is_row_major.get() == api._Py_TrueStruct ? None() : api.PyObject_GetAttr(object, names.strides));
  if (!strides || !ReadLayout(shape.get(), strides.get(), array) || !ReadDType(object, &array->dtype) ||
      !ReadStream(nullptr, &stream))
    return false;
  array->pointer = ReadPointer(object);
  array->stream = reinterpret_cast<uint64_t>(cuda::Normalize(reinterpret_cast<ConsumerStream>(stream)));
  array->is_read_only = false;
  return true;
}

}  // namespace dlpack::python
