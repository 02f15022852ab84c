#include "cupy_array.h"

#include "calls.h"
#include "device_export.h"
#include "runtime.h"
#include "tensor_type.h"

namespace dlpack {
namespace python {

namespace {

struct DTypeName {
  uint8_t code;
  uint8_t bits;
  const char* name;
};
const DTypeName kDTypes[] = {{0, 8, "int8"},         {0, 16, "int16"},   {0, 32, "int32"},   {0, 64, "int64"},
                             {1, 8, "uint8"},        {1, 16, "uint16"},  {1, 32, "uint32"},  {1, 64, "uint64"},
                             {2, 16, "float16"},     {2, 32, "float32"}, {2, 64, "float64"}, {5, 64, "complex64"},
                             {5, 128, "complex128"}, {6, 8, "bool"}};
const int kDTypeCount = sizeof(kDTypes) / sizeof(kDTypes[0]);

struct CuPy {
  Object* array_type;
  Object* memory;   // UnownedMemory(pointer, size, owner, device); keeps the owner alive
  Object* pointer;  // MemoryPointer(memory, offset)
  Object* get_current_stream;
  Object* ptr;  // the name
  Object* dtypes[kDTypeCount];
};
CuPy cupy;  // written once, before a class is known as CuPy's

int FindDType(const DLDataType& dtype) {
  for (int i = 0; i < kDTypeCount && dtype.lanes == 1; ++i) {
    if (kDTypes[i].code == dtype.code && kDTypes[i].bits == dtype.bits) return i;
  }
  return -1;
}

bool LoadDTypes() {
  Ref numpy(api.PyImport_ImportModule("numpy"));
  Ref dtype(numpy ? api.PyObject_GetAttrString(numpy.get(), "dtype") : nullptr);
  for (int i = 0; dtype && i < kDTypeCount; ++i) {
    Ref name(api.PyUnicode_InternFromString(kDTypes[i].name));
    Object* arguments[2] = {nullptr, name.get()};
    cupy.dtypes[i] = name ? CallVector(dtype.get(), arguments + 1, 1, nullptr) : nullptr;
    if (cupy.dtypes[i] == nullptr) return false;
  }
  return static_cast<bool>(dtype);
}

bool Load(Object* type) {
  Ref module(api.PyImport_ImportModule("cupy.cuda"));
  if (!module) return false;
  cupy.memory = api.PyObject_GetAttrString(module.get(), "UnownedMemory");
  cupy.pointer = cupy.memory == nullptr ? nullptr : api.PyObject_GetAttrString(module.get(), "MemoryPointer");
  cupy.get_current_stream =
      cupy.pointer == nullptr ? nullptr : api.PyObject_GetAttrString(module.get(), "get_current_stream");
  cupy.ptr = api.PyUnicode_InternFromString("ptr");
  if (cupy.get_current_stream == nullptr || cupy.ptr == nullptr || !LoadDTypes()) return false;
  cupy.array_type = type;  // the caller keeps the reference
  return true;
}

// The current stream of CuPy waits for our work on the memory.
bool OfferToCuPy(const Body& body, Object* device) {
  Object* arguments[2] = {nullptr, device};
  Ref stream(CallVector(cupy.get_current_stream, arguments + 1, 1, nullptr));
  Ref pointer(stream ? api.PyObject_GetAttr(stream.get(), cupy.ptr) : nullptr);
  if (!pointer) return false;
  int overflow = 0;
  const long long handle = api.PyLong_AsLongLongAndOverflow(pointer.get(), &overflow);
  if (api.PyErr_Occurred() || overflow != 0 || handle < 0) return false;
  const auto named = reinterpret_cast<ConsumerStream>(static_cast<uintptr_t>(handle));
  return HandOver(body.storage, body.tensor.device, cuda::Normalize(named));
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
  Ref shape(IntegerTuple(described.shape, described.ndim, 1));
  if (!start || !size || !offset || !shape) return nullptr;
  Object* of_memory[5] = {nullptr, start.get(), size.get(), tensor, device.get()};
  Ref memory(CallVector(cupy.memory, of_memory + 1, 4, nullptr));
  if (!memory) return nullptr;
  Object* of_pointer[3] = {nullptr, memory.get(), offset.get()};
  Ref pointer(CallVector(cupy.pointer, of_pointer + 1, 2, nullptr));
  if (!pointer) return nullptr;
  const bool is_row_major = IsRowMajor(described);
  Ref strides(is_row_major ? nullptr : IntegerTuple(described.strides, described.ndim, described.dtype.bits / 8));
  if (!is_row_major && !strides) return nullptr;
  Object* of_array[5] = {nullptr, shape.get(), cupy.dtypes[FindDType(described.dtype)], pointer.get(), strides.get()};
  return CallVector(cupy.array_type, of_array + 1, is_row_major ? 3 : 4, nullptr);
}

}  // namespace python
}  // namespace dlpack
