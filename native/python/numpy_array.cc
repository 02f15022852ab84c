#include "numpy_array.h"

#include <string.h>

#include "runtime.h"
#include "tensor_body.h"
#include "tensor_type.h"

namespace dlpack {
namespace python {

namespace {

// Indices in NumPy's table of functions. NumPy's ABI keeps them from version to version.
enum : int { kGetVersion = 0, kDescrFromType = 45, kNewFromDescr = 94, kSetBaseObject = 282 };

struct NumPy {
  Object* array_type;
  Object* (*descr_from_type)(int type);
  Object* (*new_from_descr)(Object* subtype, Object* descr, int nd, const intptr_t* dims, const intptr_t* strides,
                            void* data, int flags, Object* object);
  int (*set_base_object)(Object* array, Object* base);
};
NumPy numpy;  // written once, before a class is known as NumPy's

void** FindTable() {
  Ref module(api.PyImport_ImportModule("numpy._core._multiarray_umath"));
  if (!module) {
    api.PyErr_Clear();
    Ref older(api.PyImport_ImportModule("numpy.core._multiarray_umath"));  // before 2.0
    if (!older) return nullptr;
    module.reset(older.take());
  }
  Ref capsule(api.PyObject_GetAttrString(module.get(), "_ARRAY_API"));
  return capsule && api.PyCapsule_IsValid(capsule.get(), nullptr)
             ? static_cast<void**>(api.PyCapsule_GetPointer(capsule.get(), nullptr))
             : nullptr;
}

bool Load(Object* type) {
  void** table = FindTable();
  api.PyErr_Clear();
  if (table == nullptr) return false;
  const unsigned version = reinterpret_cast<unsigned (*)()>(table[kGetVersion])();
  if (version != 0x01000009 && version != 0x02000000) return false;
  numpy.descr_from_type = reinterpret_cast<decltype(numpy.descr_from_type)>(table[kDescrFromType]);
  numpy.new_from_descr = reinterpret_cast<decltype(numpy.new_from_descr)>(table[kNewFromDescr]);
  numpy.set_base_object = reinterpret_cast<decltype(numpy.set_base_object)>(table[kSetBaseObject]);
  numpy.array_type = type;  // the caller keeps the reference
  return true;
}

// NPY_TYPES of a dtype; -1 for a dtype that NumPy does not have.
int TypeNumber(const Descriptor& descriptor) {
  if (descriptor.dtype.lanes != 1) return -1;
  const int wide = sizeof(long) == 8 ? 7 : 9;  // NPY_LONG, or NPY_LONGLONG where a long has 32 bits
  switch (descriptor.dtype.code << 8 | descriptor.dtype.bits) {
    case 0 << 8 | 8: return 1;
    case 0 << 8 | 16: return 3;
    case 0 << 8 | 32: return 5;
    case 0 << 8 | 64: return wide;
    case 1 << 8 | 8: return 2;
    case 1 << 8 | 16: return 4;
    case 1 << 8 | 32: return 6;
    case 1 << 8 | 64: return wide + 1;
    case 2 << 8 | 16: return 23;
    case 2 << 8 | 32: return 11;
    case 2 << 8 | 64: return 12;
    case 5 << 8 | 64: return 14;
    case 5 << 8 | 128: return 15;
    case 6 << 8 | 8: return 0;
    default: return -1;
  }
}

}  // namespace

bool IsNumPyArray(Object* type) {
  if (!HasText(type, "__name__", "ndarray") || !HasText(type, "__module__", "numpy")) return false;
  return numpy.array_type == type || (numpy.array_type == nullptr && Load(type));
}

bool FitsNumPy(const Descriptor& descriptor) {
  // NumPy would allocate new memory for an array without elements.
  return !IsEmpty(descriptor) && descriptor.device.device_type == kDLCPU && descriptor.ndim <= 32 &&
         TypeNumber(descriptor) >= 0;
}

Object* NewNumPyArray(const Descriptor& descriptor, Storage* storage) {
  Ref tensor(NewTensor(descriptor, storage));
  Ref descr(tensor ? numpy.descr_from_type(TypeNumber(descriptor)) : nullptr);
  if (!descr) return nullptr;
  const Body& body = *BodyOf(tensor.get());
  const intptr_t item = body.tensor.dtype.bits / 8;
  intptr_t dims[32], strides[32];
  for (int32_t i = 0; i < descriptor.ndim; ++i) {
    dims[i] = static_cast<intptr_t>(body.tensor.shape[i]);
    strides[i] = static_cast<intptr_t>(body.tensor.strides[i]) * item;
  }
  const int kWriteable = 0x0400;  // NPY_ARRAY_WRITEABLE
  const int flags = (descriptor.flags & DLPACK_FLAG_BITMASK_READ_ONLY) != 0 ? 0 : kWriteable;
  Ref array(numpy.new_from_descr(numpy.array_type, descr.take(), descriptor.ndim, dims, strides, body.tensor.data,
                                 flags, nullptr));
  if (!array || numpy.set_base_object(array.get(), tensor.take()) != 0) return nullptr;
  return array.take();
}

}  // namespace python
}  // namespace dlpack
