#include "tensor_type.h"

#include <stdio.h>
#include <stdlib.h>

#include "../exchange_api.h"
#include "../managed_tensor.h"
#include "runtime.h"
#include "tensor_body.h"

namespace dlpack {
namespace python {

namespace {

Object* type;

bool IsEmpty(const DLTensor& tensor) {
  for (int32_t i = 0; i < tensor.ndim; ++i) {
    if (tensor.shape[i] == 0) return true;
  }
  return false;
}

void Dealloc(Object* self) {
  Body* body = BodyOf(self);
  if (body->storage != nullptr) ReleaseStorage(body->storage);
  if (body->dims != body->small_dims) free(body->dims);
  free(body->buffer_dims);
  Object* own_type = TypeOf(self);
  api.PyObject_Free(self);
  api.Py_DecRef(own_type);  // instances of heap types hold a reference to theirs
}

// Only JavaScript makes tensors of this type.
Object* RefuseNew(Object*, Object*, Object*) {
  api.PyErr_SetString(api.PyExc_TypeError, "dlpack.Tensor is made by passing a JavaScript tensor to Python");
  return nullptr;
}

Object* Represent(Object* self) {
  const DLTensor& tensor = BodyOf(self)->tensor;
  char text[512];
  int at = snprintf(text, sizeof(text), "<dlpack.Tensor shape=(");
  for (int32_t i = 0; i < tensor.ndim && at < 400; ++i) {
    at += snprintf(text + at, sizeof(text) - static_cast<size_t>(at), "%lld, ", static_cast<long long>(tensor.shape[i]));
  }
  at += snprintf(text + at, sizeof(text) - static_cast<size_t>(at), ") dtype=(%d, %d, %d) device=(%d, %d)>",
                 tensor.dtype.code, tensor.dtype.bits, tensor.dtype.lanes, tensor.device.device_type,
                 tensor.device.device_id);
  return api.PyUnicode_FromStringAndSize(text, at);
}

// The exchange API: a C caller with the GIL.
int FromPyObject(void* object, DLManagedTensorVersioned** out) {
  const Body& body = *BodyOf(static_cast<Object*>(object));
  Frame frame;
  FillFrame(body, &frame);
  Status status;
  RetainStorage(body.storage);
  *out = ExportManaged<DLManagedTensorVersioned>(frame, body.storage, &status);
  if (*out == nullptr) {
    ReleaseStorage(body.storage);
    api.PyErr_SetString(api.PyExc_BufferError, "Out of memory for a managed tensor");
    return -1;
  }
  Count(counts.exports, 1);
  return 0;
}

int ToPyObject(DLManagedTensorVersioned* managed, void** out) {
  *out = nullptr;
  Frame frame;
  Storage* storage = ImportManaged(managed, &frame);
  if (storage == nullptr) {
    api.PyErr_SetString(api.PyExc_BufferError, "Expected a sound managed tensor");
    return -1;
  }
  *out = NewTensor(frame, storage);
  ReleaseStorage(storage);
  return *out == nullptr ? -1 : 0;
}

int Borrow(void* object, DLTensor* out) {
  *out = BodyOf(static_cast<Object*>(object))->tensor;
  return 0;
}

const int kFastCallKeywords = 0x0080 | 0x0002, kNoArguments = 0x0004;

struct GetSetDef {
  const char* name;
  void* get;
  void* set;
  const char* doc;
  void* closure;
};

MethodDef methods[] = {
    {"__dlpack__", reinterpret_cast<void*>(DLPack), kFastCallKeywords,
     "__dlpack__(*, stream=None, max_version=None, dl_device=None, copy=None)"},
    {"__dlpack_device__", reinterpret_cast<void*>(DLPackDevice), kNoArguments, "(device_type, device_id)"},
    {nullptr, nullptr, 0, nullptr},
};

GetSetDef getters[] = {
    {"shape", reinterpret_cast<void*>(Shape), nullptr, "Lengths of the axes.", nullptr},
    {"__array_interface__", reinterpret_cast<void*>(ArrayInterface), nullptr, "NumPy's array interface.", nullptr},
    {nullptr, nullptr, nullptr, nullptr, nullptr},
};

}  // namespace

bool MakeTensorType() {
  // Numbers of Include/typeslots.h.
  const int bf_getbuffer = 1, tp_dealloc = 52, tp_doc = 56, tp_methods = 64, tp_new = 65, tp_repr = 66, tp_getset = 73;
  static TypeSlot slots[] = {
      {bf_getbuffer, reinterpret_cast<void*>(GetBuffer)},
      {tp_dealloc, reinterpret_cast<void*>(Dealloc)},
      {tp_doc, const_cast<char*>("A tensor of JavaScript: the same memory, by DLPack.")},
      {tp_methods, methods},
      {tp_new, reinterpret_cast<void*>(RefuseNew)},
      {tp_repr, reinterpret_cast<void*>(Represent)},
      {tp_getset, getters},
      {0, nullptr},
  };
  TypeSpec spec = {"dlpack.Tensor", static_cast<int>(api.head_size + sizeof(Body)), 0, 1u << 18, slots};
  type = api.PyType_FromSpec(&spec);
  if (type == nullptr) return false;
  DLPackExchangeAPI* table = ExchangeApi();
  table->managed_tensor_from_py_object_no_sync = FromPyObject;
  table->managed_tensor_to_py_object_no_sync = ToPyObject;
  table->dltensor_from_py_object_no_sync = Borrow;
  Ref capsule(api.PyCapsule_New(table, "dlpack_exchange_api", nullptr));
  Ref number(api.PyLong_FromVoidPtr(table));
  return capsule && number && api.PyObject_SetAttrString(type, "__dlpack_c_exchange_api__", capsule.get()) == 0 &&
         api.PyObject_SetAttrString(type, "__c_dlpack_exchange_api__", number.get()) == 0;
}

Object* NewTensor(const Frame& frame, Storage* storage) {
  if (CheckFrame(frame, storage->nbytes) != kOk) {
    api.PyErr_SetString(api.PyExc_ValueError, "Expected a tensor that lies inside its memory");
    return nullptr;
  }
  Object* self = api.PyType_GenericAlloc(type, 0);  // zeroed: Dealloc is safe from here on
  if (self == nullptr) return nullptr;
  Body* body = BodyOf(self);
  const size_t room = sizeof(int64_t) * 2 * static_cast<size_t>(frame.ndim);
  body->dims = room <= sizeof(body->small_dims) ? body->small_dims : static_cast<int64_t*>(malloc(room));
  if (body->dims == nullptr) {
    api.PyErr_SetString(api.PyExc_BufferError, "Out of memory for a tensor");
    api.Py_DecRef(self);
    return nullptr;
  }
  for (int32_t i = 0; i < frame.ndim; ++i) {
    body->dims[i] = static_cast<int64_t>(frame.shape[i]);
    body->dims[frame.ndim + i] = static_cast<int64_t>(frame.strides[i]);
  }
  DLTensor& tensor = body->tensor;
  tensor.ndim = frame.ndim;
  tensor.shape = body->dims;
  tensor.strides = body->dims + frame.ndim;
  tensor.dtype = {frame.dtype_code, frame.dtype_bits, frame.dtype_lanes};
  tensor.device = {frame.device_type, frame.device_id};
  const uint64_t offset = static_cast<uint64_t>(frame.byte_offset);
  tensor.data = IsEmpty(tensor) ? nullptr : static_cast<char*>(storage->data) + (frame.addressable ? offset : 0);
  tensor.byte_offset = frame.addressable || tensor.data == nullptr ? 0 : offset;
  body->flags = frame.flags;
  RetainStorage(storage);
  body->storage = storage;
  return self;
}

}  // namespace python
}  // namespace dlpack
