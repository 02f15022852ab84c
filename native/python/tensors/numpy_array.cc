#include "numpy_array.h"

#include "../../trace.h"
#include "../objects/calls.h"
#include "dtypes.h"

namespace dlpack::python {

namespace {

// Indices in NumPy's table of functions. NumPy's ABI keeps them from version to version.
enum : int { kGetVersion = 0, kDescrFromType = 45, kNewFromDescr = 94, kGetFeatures = 211, kSetBaseObject = 282 };

// Flags of an array.
enum : int { kAligned = 0x0100, kWriteable = 0x0400, kWarnOnWrite = INT32_MIN };

// The fields of an array and of its dtype after the object header, as NumPy's ABI has kept them since 1.0.
static_assert(sizeof(intptr_t) == sizeof(int64_t), "dims and strides are intptr_t in NumPy");
struct ArrayFields {
  char* data;
  int nd;
  int64_t* dims;
  int64_t* strides;  // in bytes
  Object* base;
  Object* descr;
  int flags;
};
struct DescrFields {
  Object* type;
  char kind;
  char letter;
  char byteorder;
  char former_flags;
  int type_num;
};

const int kMaxAxes = 32;
const char kMemory[] = "dlpack_memory";

struct NumPy {
  Object* array_type;
  bool is_versioned;
  Object* (*descr_from_type)(int type);
  Object* (*new_from_descr)(Object* subtype, Object* descr, int nd, const intptr_t* dims, const intptr_t* strides,
                            void* data, int flags, Object* object);
  int (*set_base_object)(Object* array, Object* base);
};
NumPy numpy;  // written once, before a class is known as NumPy's

void** FindTable() {
  Ref capsule(ImportFrom("numpy._core._multiarray_umath", "_ARRAY_API"));
  if (!capsule) {
    api.PyErr_Clear();
    capsule.reset(ImportFrom("numpy.core._multiarray_umath", "_ARRAY_API"));  // before 2.0
  }
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
  // Since 2.1 NumPy takes and returns versioned capsules, which can be read-only.
  numpy.is_versioned = reinterpret_cast<unsigned (*)()>(table[kGetFeatures])() >= 0x13;
  numpy.descr_from_type = reinterpret_cast<decltype(numpy.descr_from_type)>(table[kDescrFromType]);
  numpy.new_from_descr = reinterpret_cast<decltype(numpy.new_from_descr)>(table[kNewFromDescr]);
  numpy.set_base_object = reinterpret_cast<decltype(numpy.set_base_object)>(table[kSetBaseObject]);
  numpy.array_type = type;  // the caller keeps the reference
  return true;
}

// The dtype of an NPY_TYPES; false for a dtype that is not in DLPack.
bool DTypeOf(int type, DLDataType* dtype) {
  const uint8_t wide = sizeof(long) * 8;
  static const DLDataType kTypes[] = {
      {6, 8, 1},    {0, 8, 1},  {1, 8, 1},  {0, 16, 1}, {1, 16, 1}, {0, 32, 1}, {1, 32, 1}, {0, wide, 1},
      {1, wide, 1}, {0, 64, 1}, {1, 64, 1}, {2, 32, 1}, {2, 64, 1}, {0, 0, 0},  {5, 64, 1}, {5, 128, 1},
  };
  const int kHalf = 23;
  const int count = static_cast<int>(sizeof(kTypes) / sizeof(kTypes[0]));
  *dtype = type == kHalf ? DLDataType{2, 16, 1} : type >= 0 && type < count ? kTypes[type] : DLDataType{0, 0, 0};
  return dtype->bits != 0;
}

}  // namespace

bool IsVersionedNumPy() { return numpy.is_versioned; }

bool IsNumPyArray(Object* type) {
  if (!HasText(type, "__name__", "ndarray") || !HasText(type, "__module__", "numpy")) return false;
  return numpy.array_type == type || (numpy.array_type == nullptr && Load(type));
}

bool FitsNumPy(const Layout& layout) {
  // NumPy would allocate new memory for an array without elements.
  return !IsEmpty(layout) && layout.device.device_type == kDLCPU && layout.ndim <= kMaxAxes &&
         FindDType(layout.dtype) >= 0;
}

// Drops a reference to the memory. Python calls it with the GIL held, and perhaps with an exception set.
static void ReleaseMemory(Object* capsule) {
  SavedError error;
  void* storage = api.PyCapsule_GetPointer(capsule, kMemory);
  if (storage == nullptr) return;
  EndTrace(static_cast<uint32_t>(reinterpret_cast<uintptr_t>(api.PyCapsule_GetContext(capsule))));
  Count(Counter::kExports, -1);
  ReleaseStorage(static_cast<Storage*>(storage));
}

Object* NewNumPyArray(const Descriptor& descriptor, Storage* storage, bool is_copy) {
  const Layout& layout = *descriptor.layout;
  Ref base(api.PyCapsule_New(storage, kMemory, ReleaseMemory));
  if (!base) return nullptr;
  RetainStorage(storage);
  Count(Counter::kExports, 1);
  if (descriptor.trace != 0) {
    api.PyCapsule_SetContext(base.get(), reinterpret_cast<void*>(uintptr_t{BeginTrace(descriptor.trace)}));
  }
  Ref descr(numpy.descr_from_type(kDTypes[FindDType(layout.dtype)].number));
  if (!descr) return nullptr;
  const intptr_t item = layout.dtype.bits / 8;
  intptr_t dims[kMaxAxes], strides[kMaxAxes];
  for (int32_t i = 0; i < layout.ndim; ++i) {
    dims[i] = static_cast<intptr_t>(layout.shape[i]);
    strides[i] = static_cast<intptr_t>(layout.strides[i]) * item;
  }
  const int flags = is_copy || (layout.flags & DLPACK_FLAG_BITMASK_READ_ONLY) != 0 ? 0 : kWriteable;
  char* data = static_cast<char*>(storage->data) + descriptor.byte_offset;
  Ref array(numpy.new_from_descr(numpy.array_type, descr.take(), layout.ndim, dims, strides, data, flags, nullptr));
  if (!array || numpy.set_base_object(array.get(), base.take()) != 0) return nullptr;
  return array.take();
}

bool ReadNumPyArray(Object* array, DLTensor* tensor, int64_t* strides, uint64_t* flags) {
  const auto* fields = reinterpret_cast<const ArrayFields*>(reinterpret_cast<char*>(array) + api.head_size);
  const auto* descr = reinterpret_cast<const DescrFields*>(reinterpret_cast<char*>(fields->descr) + api.head_size);
  const bool is_plain = (fields->flags & (kAligned | kWarnOnWrite)) == kAligned && fields->nd <= kMaxAxes &&
                        (descr->byteorder == '=' || descr->byteorder == '|');
  if (!is_plain || !DTypeOf(descr->type_num, &tensor->dtype)) return false;
  const int64_t item = tensor->dtype.bits / 8;
  for (int i = 0; i < fields->nd; ++i) {
    if (fields->dims[i] == 0 || fields->strides[i] % item != 0) return false;
    strides[i] = fields->strides[i] / item;
  }
  tensor->data = fields->data;
  tensor->device = DLDevice{kDLCPU, 0};
  tensor->ndim = fields->nd;
  tensor->shape = fields->dims;
  tensor->strides = strides;
  tensor->byte_offset = 0;
  *flags = (fields->flags & kWriteable) != 0 ? 0 : DLPACK_FLAG_BITMASK_READ_ONLY;
  return true;
}

}  // namespace dlpack::python
