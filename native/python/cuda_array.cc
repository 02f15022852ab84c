#include "cuda_array.h"

#include "../cuda/imports.h"
#include "../managed_tensor.h"
#include "consume.h"
#include "operation_scope.h"
#include "prelude.h"

namespace dlpack::python {

namespace {

// As ReadInteger, but faster, and only for an int itself.
bool ReadPlainInteger(Object* value, long long* out) {
  int overflow = 0;
  if (value == nullptr || TypeOf(value) != api.PyLong_Type) return false;
  *out = api.PyLong_AsLongLongAndOverflow(value, &overflow);
  return overflow == 0;
}

// Reads a tuple of integers of at most 2^53 - 1. False, perhaps with an exception set, for anything else. GIL held.
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

}  // namespace

bool ReadLayout(Object* shape, Object* strides, PlainArray* array) {
  array->has_strides = strides != api._Py_NoneStruct;
  int32_t steps = 0;
  return ReadIntegers(shape, array->shape, &array->ndim) &&
         (!array->has_strides || (ReadIntegers(strides, array->strides, &steps) && steps == array->ndim));
}

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

// False, perhaps with an exception set, for an unusual interface. JavaScript then reads the entries one by one and
// reports errors.
bool ReadInterface(Object* object, PlainArray* array) {
  const Ref fields(CallPrelude("read_cuda_array", object));
  if (!fields || fields.get() == api._Py_NoneStruct) return false;
  const auto field = [&](ptrdiff_t i) { return api.PyTuple_GetItem(fields.get(), i); };
  long long pointer = 0, stream = 0, code = 0, bits = 0;
  if (!ReadLayout(field(0), field(1), array) || !ReadPair(field(2), &code, &bits) ||
      !ReadPair(field(3), &pointer, &stream) || pointer < 0)
    return false;
  array->dtype = DLDataType{static_cast<uint8_t>(code), static_cast<uint8_t>(bits), 1};
  array->pointer = static_cast<uint64_t>(pointer);
  array->stream = static_cast<uint64_t>(stream);
  array->is_read_only = field(4) == api._Py_TrueStruct;
  return true;
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
