#include "cuda_array.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../cuda/imports.h"
#include "../managed_tensor.h"
#include "consume.h"
#include "cupy_array.h"
#include "device_export.h"
#include "operation_scope.h"
#include "runtime.h"
#include "tensor_body.h"

namespace dlpack::python {

namespace {

// The entries of an interface, in CuPy's order.
enum Key { kShape, kTypestr, kDescr, kStream, kVersion, kStrides, kData, kMask, kKeyCount };
const char* const kKeyNames[kKeyCount] = {"shape", "typestr", "descr", "stream", "version", "strides", "data", "mask"};

// Made on first use. GIL held.
struct ArrayNames {
  Object* interface;
  Object* keys[kKeyCount];  // interned
  // The stream and the version of nearly all interfaces. Python has a single object for each small integer.
  Object* one;
  Object* three;
};
ArrayNames array_names;

bool MakeArrayNames() {
  if (array_names.three != nullptr) return true;
  array_names.interface = api.PyUnicode_InternFromString("__cuda_array_interface__");
  bool is_good = array_names.interface != nullptr;
  for (int i = 0; i < kKeyCount && is_good; ++i) {
    array_names.keys[i] = api.PyUnicode_InternFromString(kKeyNames[i]);
    is_good = array_names.keys[i] != nullptr;
  }
  array_names.one = is_good ? api.PyLong_FromLongLong(1) : nullptr;
  array_names.three = array_names.one != nullptr ? api.PyLong_FromLongLong(3) : nullptr;
  return array_names.three != nullptr;
}

// Borrowed references; NULL for None and for missing entries.
struct Entries {
  Object* of[kKeyCount];
};

Object* OrNull(Object* value) { return value == api._Py_NoneStruct ? nullptr : value; }

// Libraries use interned strings as keys, so comparing pointers is enough. This takes a third of the time of one lookup
// for each key. False when a key is not one of the known strings.
bool WalkEntries(Object* dict, Entries* entries) {
  ptrdiff_t at = 0;
  Object *key, *value;
  while (api.PyDict_Next(dict, &at, &key, &value)) {
    int i = 0;
    while (i < kKeyCount && key != array_names.keys[i]) ++i;
    if (i == kKeyCount) return false;
    entries->of[i] = OrNull(value);
  }
  return true;
}

// A lookup runs the __eq__ of keys that are not plain strings. That code could delete entries that were read before.
bool HasStringKeys(Object* dict) {
  ptrdiff_t at = 0;
  Object *key, *value;
  while (api.PyDict_Next(dict, &at, &key, &value)) {
    if (TypeOf(key) != api.PyUnicode_Type) return false;
  }
  return true;
}

Entries ReadEntries(Object* dict) {
  Entries entries = {};
  if (WalkEntries(dict, &entries)) return entries;
  if (!HasStringKeys(dict)) return Entries{};
  for (int i = 0; i < kKeyCount; ++i) entries.of[i] = OrNull(api.PyDict_GetItemWithError(dict, array_names.keys[i]));
  return entries;
}

bool ReadInteger(Object* value, long long* out) {
  if (value == array_names.three || value == array_names.one) {
    *out = value == array_names.one ? 1 : 3;
    return true;
  }
  int overflow = 0;
  if (value == nullptr || TypeOf(value) != api.PyLong_Type) return false;
  *out = api.PyLong_AsLongLongAndOverflow(value, &overflow);
  return overflow == 0;
}

}  // namespace

bool ReadIntegers(Object* tuple, int64_t* out, int32_t* count) {
  static const long long kSafe = (1LL << 53) - 1;
  if (tuple == nullptr || TypeOf(tuple) != api.PyTuple_Type) return false;
  const ptrdiff_t length = api.PyTuple_Size(tuple);
  if (length > kMaxNdim) return false;
  for (ptrdiff_t i = 0; i < length; ++i) {
    long long value = 0;
    if (!ReadInteger(api.PyTuple_GetItem(tuple, i), &value) || value < -kSafe || value > kSafe) return false;
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
  if (TypeOf(dict) != api.PyDict_Type) return false;
  const Entries entries = ReadEntries(dict);
  array->has_strides = array->is_read_only = false;
  if (!ReadIntegers(entries.of[kShape], array->shape, &array->ndim)) return false;
  int32_t steps = array->ndim;
  if (entries.of[kStrides] != nullptr) {
    if (!ReadIntegers(entries.of[kStrides], array->strides, &steps) || steps != array->ndim) return false;
    array->has_strides = true;
  }
  ptrdiff_t length = 0;
  const char* text = entries.of[kTypestr] != nullptr && TypeOf(entries.of[kTypestr]) == api.PyUnicode_Type
                         ? api.PyUnicode_AsUTF8AndSize(entries.of[kTypestr], &length)
                         : nullptr;
  if (text == nullptr || length < 3 || static_cast<size_t>(length) != strlen(text)) return false;
  if (!ReadTypeString(text, &array->dtype)) return false;
  Object* data = entries.of[kData];
  if (data == nullptr || TypeOf(data) != api.PyTuple_Type || api.PyTuple_Size(data) != 2) return false;
  long long pointer = 0, version = 0, stream = 0;
  Object* readonly = api.PyTuple_GetItem(data, 1);
  if (!ReadInteger(api.PyTuple_GetItem(data, 0), &pointer) || pointer < 0) return false;
  if (readonly == api._Py_TrueStruct) {
    array->is_read_only = true;
  } else if (readonly != api._Py_FalseStruct) {
    return false;
  }
  if (!ReadInteger(entries.of[kVersion], &version) || version < 0 || version > 1000) return false;
  if (entries.of[kDescr] != nullptr && !RepeatsType(entries.of[kDescr], text, length)) return false;
  if (entries.of[kMask] != nullptr) return false;
  if (version >= 3 && entries.of[kStream] != nullptr) {
    if (!ReadInteger(entries.of[kStream], &stream) || stream <= 0) return false;
  }
  array->pointer = static_cast<uint64_t>(pointer);
  array->stream = static_cast<uint64_t>(stream);
  return true;
}

}  // namespace

napi_value KeepObject(napi_env env, napi_callback_info info) {
  napi_value value, result = nullptr;
  size_t count = 1;
  void* data = nullptr;
  uint32_t handle = 0;
  napi_get_cb_info(env, info, &count, &value, nullptr, &data);
  napi_get_value_uint32(env, value, &handle);
  Objects* self = static_cast<Objects*>(data);
  uint32_t kept = 0;
  {
    Gil gil;
    Object* object = GetObject(self, handle);
    Storage* storage = object == nullptr ? nullptr : WrapStorage(nullptr, 0, DropOwner, object, 0);
    if (storage != nullptr) {
      api.Py_IncRef(object);
      Count(counts.imports, 1);
      kept = Hold(self->instance, storage, false);
    }
  }
  napi_create_uint32(env, kept, &result);
  return result;
}

namespace {

bool ReadInterface(Object* object, PlainArray* array) {
  Ref dict(api.PyObject_GetAttr(object, array_names.interface));
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
  if (!cuda::IsLoaded() || !MakeArrayNames()) {
    api.PyErr_Clear();
    return nullptr;
  }
  api.Py_IncRef(object);
  Ref owner(object);
  PlainArray array;
  bool is_plain = ReadCuPyArray(object, array_names.interface, &array);
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
  void* data = nullptr;
  napi_get_cb_info(env, info, nullptr, nullptr, nullptr, &data);
  Objects* self = static_cast<Objects*>(data);
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

namespace {

// The type string of a dtype: NumPy's letter, "V" (raw bytes) for types without a letter, "t" (bit fields) for packed
// unsigned types. src/cuda/typestr.ts has the same rules. False for all other packed elements that do not fill whole
// bytes.
bool WriteTypeString(const DLDataType& dtype, bool padded, char* out, size_t size) {
  const int bits = dtype.bits * dtype.lanes;
  if (bits % 8 != 0 && !padded) {
    if (dtype.code != 1 || dtype.lanes != 1) return false;
    snprintf(out, size, "|t%d", bits);
    return true;
  }
  char kind = 'V';
  if (dtype.lanes == 1 && bits % 8 == 0) {
    static const char kKinds[] = {'i', 'u', 'f', 'V', 'V', 'c', 'b'};  // by DLDataTypeCode
    if (dtype.code < sizeof(kKinds)) kind = kKinds[dtype.code];
  }
  const int bytes = (bits + 7) / 8;
  snprintf(out, size, "%c%c%d", bytes == 1 ? '|' : '<', kind, bytes);
  return true;
}

// Takes the reference over. False with an exception set.
bool SetEntry(Object* dict, Object* name, Object* value) {
  Ref ref(value);
  return ref && api.PyDict_SetItem(dict, name, value) == 0;
}

}  // namespace

Object* CudaArrayInterface(Object* self, void*) {
  const Body& body = *BodyOf(self);
  const DLTensor& tensor = body.tensor;
  const bool padded = (body.flags & DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED) != 0;
  const bool row_major = IsRowMajor(tensor);
  char typestr[16];
  const char* problem = nullptr;
  if (!cuda::IsCudaDevice(tensor.device.device_type)) {
    problem = "__cuda_array_interface__ needs memory of a CUDA device";
  } else if (!WriteTypeString(tensor.dtype, padded, typestr, sizeof(typestr)) || (typestr[1] == 't' && !row_major)) {
    problem = "__cuda_array_interface__ needs elements of whole bytes, or contiguous bits";
  }
  if (problem != nullptr) {
    api.PyErr_SetString(api.PyExc_AttributeError, problem);
    return nullptr;
  }
  if (!MakeArrayNames()) return nullptr;
  uint64_t stream = 1;
  if (tensor.data != nullptr && !OfferOnCurrentStream(body, &stream)) return nullptr;
  const int64_t item = (int64_t{tensor.dtype.bits} * tensor.dtype.lanes + 7) / 8;
  Ref dict(api.PyDict_New());
  Ref data(api.PyTuple_New(2));
  if (!dict || !data) return nullptr;
  api.PyTuple_SetItem(data.get(), 0, api.PyLong_FromVoidPtr(static_cast<char*>(tensor.data) + tensor.byte_offset));
  api.PyTuple_SetItem(data.get(), 1, api.PyBool_FromLong((body.flags & DLPACK_FLAG_BITMASK_READ_ONLY) != 0));
  api.Py_IncRef(api._Py_NoneStruct);
  Object* strides = row_major ? api._Py_NoneStruct : IntegerTuple(tensor.strides, tensor.ndim, item);
  if (!row_major) api.Py_DecRef(api._Py_NoneStruct);
  Object* text = api.PyUnicode_FromStringAndSize(typestr, static_cast<ptrdiff_t>(strlen(typestr)));
  // No early exit: SetEntry takes over the reference of each value.
  bool good = SetEntry(dict.get(), array_names.keys[kStrides], strides);
  good &= SetEntry(dict.get(), array_names.keys[kTypestr], text);
  good &= SetEntry(dict.get(), array_names.keys[kShape], IntegerTuple(tensor.shape, tensor.ndim, 1));
  good &= SetEntry(dict.get(), array_names.keys[kVersion], api.PyLong_FromLongLong(3));
  good &= SetEntry(dict.get(), array_names.keys[kStream], api.PyLong_FromLongLong(static_cast<long long>(stream)));
  good &= SetEntry(dict.get(), array_names.keys[kData], data.take());
  return good ? dict.take() : nullptr;
}

}  // namespace dlpack::python
