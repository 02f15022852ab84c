#include "cuda_array.h"

#include <string.h>

#include "../cuda/imports.h"
#include "../managed_tensor.h"
#include "calls.h"
#include "consume.h"
#include "cupy_array.h"
#include "device_exchange.h"
#include "operation_scope.h"

namespace dlpack::python {

namespace {

// The entries of an interface, in CuPy's order.
enum InterfaceKey { kShape, kTypestr, kDescr, kStream, kVersion, kStrides, kData, kMask, kInterfaceKeys };

// Borrowed references; NULL for None and for missing entries. Libraries use interned strings as keys, so comparing
// pointers is mostly enough, which takes a third of the time of one lookup for each key. False for keys that are not
// plain strings, because comparing them runs their __eq__, which could delete entries that were read before.
bool ReadEntries(Object* dict, Object** entries) {
  Object* const keys[kInterfaceKeys] = {names.shape,   names.typestr, names.descr, names.stream,
                                        names.version, names.strides, names.data,  names.mask};
  ptrdiff_t at = 0;
  Object *key, *value;
  while (api.PyDict_Next(dict, &at, &key, &value)) {
    int i = 0;
    while (i < kInterfaceKeys && key != keys[i]) ++i;
    if (i == kInterfaceKeys) {
      if (TypeOf(key) != api.PyUnicode_Type) return false;
      for (i = 0; i < kInterfaceKeys && api.PyUnicode_Compare(key, keys[i]) != 0;) ++i;
    }
    if (i < kInterfaceKeys) entries[i] = value == api._Py_NoneStruct ? nullptr : value;
  }
  return true;
}

// As ReadInteger, but faster, and only for an int itself.
bool ReadPlainInteger(Object* value, long long* out) {
  int overflow = 0;
  if (value == nullptr || TypeOf(value) != api.PyLong_Type) return false;
  *out = api.PyLong_AsLongLongAndOverflow(value, &overflow);
  return overflow == 0;
}

}  // namespace

bool ReadIntegers(Object* tuple, int64_t* out, int32_t* count) {
  if (tuple == nullptr || TypeOf(tuple) != api.PyTuple_Type) return false;
  const ptrdiff_t length = api.PyTuple_Size(tuple);
  if (length > kMaxNdim) return false;
  for (ptrdiff_t i = 0; i < length; ++i) {
    long long value = 0;
    if (!ReadPlainInteger(api.PyTuple_GetItem(tuple, i), &value) || !IsSafeInteger(value)) return false;
    out[i] = value;
  }
  *count = static_cast<int32_t>(length);
  return true;
}

namespace {

bool IsText(Object* value, const char* expected, ptrdiff_t length) {
  ptrdiff_t size = 0;
  const char* text = TypeOf(value) == api.PyUnicode_Type ? api.PyUnicode_AsUTF8AndSize(value, &size) : nullptr;
  return text != nullptr && size == length && memcmp(text, expected, static_cast<size_t>(length)) == 0;
}

// True for `[('', typestr)]`, which only repeats the type string.
bool RepeatsType(Object* descr, const char* typestr, ptrdiff_t length) {
  if (TypeOf(descr) != api.PyList_Type || api.PyList_Size(descr) != 1) return false;
  Object* field = api.PyList_GetItem(descr, 0);
  return TypeOf(field) == api.PyTuple_Type && api.PyTuple_Size(field) == 2 &&
         IsText(api.PyTuple_GetItem(field, 0), "", 0) && IsText(api.PyTuple_GetItem(field, 1), typestr, length);
}

// Reads a type string, of three characters or more, with a letter and a size that stand for one dtype. False for other
// type strings.
bool ReadTypeString(const char* text, DLDataType* dtype) {
  const char order = text[0], kind = text[1], size = text[2];
  const bool is_sixteen = size == '1' && text[3] == '6' && text[4] == 0;
  const int bytes = is_sixteen ? 16 : size >= '1' && size <= '8' && text[3] == 0 ? size - '0' : 0;
  if ((bytes & (bytes - 1)) != 0 || (order != '<' && order != '=' && (order != '|' || bytes != 1))) return false;
  const auto is = [&](char letter, int least, int most) { return kind == letter && bytes >= least && bytes <= most; };
  const int code = is('i', 1, 8)    ? 0
                   : is('u', 1, 8)  ? 1
                   : is('f', 2, 8)  ? 2
                   : is('c', 8, 16) ? 5
                   : is('b', 1, 1)  ? 6
                                    : -1;
  *dtype = DLDataType{static_cast<uint8_t>(code), static_cast<uint8_t>(bytes * 8), 1};
  return code >= 0;
}

// False, with no exception set, for an unusual interface. JavaScript then reads the entries one by one and reports
// errors.
bool ReadPlain(Object* dict, PlainArray* array) {
  Object* entries[kInterfaceKeys] = {};
  if (TypeOf(dict) != api.PyDict_Type || !ReadEntries(dict, entries)) return false;
  array->has_strides = array->is_read_only = false;
  if (!ReadIntegers(entries[kShape], array->shape, &array->ndim)) return false;
  int32_t steps = array->ndim;
  if (entries[kStrides] != nullptr) {
    if (!ReadIntegers(entries[kStrides], array->strides, &steps) || steps != array->ndim) return false;
    array->has_strides = true;
  }
  ptrdiff_t length = 0;
  const char* text = entries[kTypestr] != nullptr && TypeOf(entries[kTypestr]) == api.PyUnicode_Type
                         ? api.PyUnicode_AsUTF8AndSize(entries[kTypestr], &length)
                         : nullptr;
  if (text == nullptr || length < 3 || static_cast<size_t>(length) != strlen(text)) return false;
  if (!ReadTypeString(text, &array->dtype)) return false;
  Object* data = entries[kData];
  if (data == nullptr || TypeOf(data) != api.PyTuple_Type || api.PyTuple_Size(data) != 2) return false;
  long long pointer = 0, version = 0, stream = 0;
  Object* readonly = api.PyTuple_GetItem(data, 1);
  if (!ReadPlainInteger(api.PyTuple_GetItem(data, 0), &pointer) || pointer < 0) return false;
  if (readonly == api._Py_TrueStruct) {
    array->is_read_only = true;
  } else if (readonly != api._Py_FalseStruct) {
    return false;
  }
  if (!ReadPlainInteger(entries[kVersion], &version) || version < 0 || version > 1000) return false;
  if (entries[kDescr] != nullptr && !RepeatsType(entries[kDescr], text, length)) return false;
  if (entries[kMask] != nullptr) return false;
  if (version >= 3 && entries[kStream] != nullptr) {
    if (!ReadPlainInteger(entries[kStream], &stream) || stream <= 0) return false;
  }
  array->pointer = static_cast<uint64_t>(pointer);
  array->stream = static_cast<uint64_t>(stream);
  return true;
}

}  // namespace

uint32_t KeepObject(Objects* self, uint32_t handle) {
  Gil gil;
  Object* object = GetObject(self, handle);
  Storage* storage = object == nullptr ? nullptr : WrapStorage(nullptr, 0, DropOwner, object, 0);
  if (storage == nullptr) return 0;
  api.Py_IncRef(object);
  Count(counts.imports, 1);
  return Hold(self->instance, storage, false);
}

namespace {

bool ReadInterface(Object* object, PlainArray* array) {
  const Ref dict(api.PyObject_GetAttr(object, names.cuda_array_interface));
  return dict && ReadPlain(dict.get(), array);
}

// A storage for the array that a plain interface describes. Changes its strides to elements. NULL, without taking the
// reference, when the array cannot be imported.
Storage* WrapArray(PlainArray* array, Object* owner, Descriptor* descriptor, TensorSignature* last) {
  DLTensor tensor = {};
  cuda::Location location;
  if (array->pointer < 4096) return nullptr;
  const int64_t item = array->dtype.bits / 8;
  for (int32_t i = 0; i < array->ndim; ++i) {
    if (array->shape[i] <= 0) return nullptr;
    if (!array->has_strides) continue;
    if (array->strides[i] % item != 0) return nullptr;
    array->strides[i] /= item;
  }
  if (cuda::FindLocation(array->pointer, &location) != cuda::kSuccess || !cuda::IsCudaDevice(location.kind))
    return nullptr;
  tensor.data = reinterpret_cast<void*>(array->pointer);
  tensor.device = {location.kind, cuda::OrdinalOf(location.kind, location.ordinal)};
  tensor.ndim = array->ndim;
  tensor.dtype = array->dtype;
  tensor.shape = array->shape;
  tensor.strides = array->has_strides ? array->strides : nullptr;
  const uint64_t flags = array->is_read_only ? DLPACK_FLAG_BITMASK_READ_ONLY : 0;
  Status status;
  Storage* storage = WrapTensor(tensor, flags, descriptor, &status, last, DropOwner, owner);
  if (storage == nullptr) return nullptr;
  const uint64_t before = reinterpret_cast<uint64_t>(storage->data) - location.start;
  const bool is_inside = location.size == 0 || (before <= location.size && storage->nbytes <= location.size - before);
  const auto stream = reinterpret_cast<cuda::StreamHandle>(array->stream);
  if (is_inside && cuda::FollowProducer(storage, location.ordinal, tensor.device.device_id, stream) == cuda::kSuccess)
    return storage;
  storage->owner = nullptr;  // the reference stays with the caller
  ReleaseStorage(storage);
  return nullptr;
}

}  // namespace

Storage* TakeInterface(Object* object, Descriptor* descriptor, TensorSignature* last) {
  if (!cuda::IsLoaded()) return nullptr;
  Ref owner(NewRef(object));
  PlainArray array;
  bool is_plain = ReadCuPyArray(object, &array);
  if (!is_plain) {
    api.PyErr_Clear();
    is_plain = ReadInterface(object, &array);
    api.PyErr_Clear();  // the caller reports a refused interface
  }
  Storage* storage = is_plain ? WrapArray(&array, object, descriptor, last) : nullptr;
  if (storage != nullptr) owner.take();
  return storage;
}

napi_value TakeArray(napi_env env, napi_callback_info info) {
  Objects* self = ObjectsOf(env, info);
  TakeArrayRequest* request = MessageOf<TakeArrayRequest>(self->instance);
  TensorResult* result = MessageAt<TensorResult>(self->instance, request->tensor_slot);
  request->is_taken = 0;
  OperationScope scope(self);
  Object* object = GetObject(self, request->object);
  Descriptor descriptor;
  Storage* storage = object == nullptr ? nullptr : TakeInterface(object, &descriptor, &self->instance->signature);
  if (storage == nullptr) return nullptr;
  result->status = GiveTensor(self->instance, storage, kOk, descriptor, &result->tensor, false);
  request->is_taken = result->status == kOk;
  return nullptr;
}

}  // namespace dlpack::python
