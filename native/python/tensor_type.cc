#include "tensor_type.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../exchange_api.h"
#include "../managed_tensor.h"
#include "runtime.h"

namespace dlpack {
namespace python {

namespace {

// What a Python tensor holds behind its head.
struct Body {
  Storage* storage;
  DLTensor tensor;  // shape and strides point into `dims`
  uint32_t flags;
  int64_t* dims;
  ptrdiff_t* buffer_dims;  // shape and strides in bytes for the buffer protocol, made on demand
  char format[8];
};

Object* type;

Body* BodyOf(Object* self) { return reinterpret_cast<Body*>(reinterpret_cast<char*>(self) + api.head_size); }

// The frame form of a body, for the exporters of managed_tensor.cc.
void FillFrame(const Body& body, Frame* frame) {
  const DLTensor& tensor = body.tensor;
  frame->ndim = tensor.ndim;
  frame->dtype_code = tensor.dtype.code;
  frame->dtype_bits = tensor.dtype.bits;
  frame->dtype_lanes = tensor.dtype.lanes;
  frame->device_type = tensor.device.device_type;
  frame->device_id = tensor.device.device_id;
  frame->flags = body.flags;
  frame->trace = 0;
  frame->addressable = tensor.byte_offset == 0;
  frame->byte_offset = static_cast<double>(tensor.byte_offset);
  if (frame->addressable && tensor.data != nullptr) {
    frame->byte_offset = static_cast<double>(static_cast<char*>(tensor.data) - static_cast<char*>(body.storage->data));
  }
  for (int32_t i = 0; i < tensor.ndim; ++i) {
    frame->shape[i] = static_cast<double>(tensor.shape[i]);
    frame->strides[i] = static_cast<double>(tensor.strides[i]);
  }
}

bool IsEmpty(const DLTensor& tensor) {
  for (int32_t i = 0; i < tensor.ndim; ++i) {
    if (tensor.shape[i] == 0) return true;
  }
  return false;
}

// Copies the elements, row-major, into new memory. Whole bytes only. NULL with an exception set.
Storage* CopyElements(const DLTensor& tensor, bool padded) {
  const int64_t bits = int64_t{tensor.dtype.bits} * tensor.dtype.lanes;
  const int64_t item = (padded || bits % 8 == 0) ? (bits + 7) / 8 : 0;
  int64_t count = 1;
  for (int32_t i = 0; i < tensor.ndim; ++i) count *= tensor.shape[i];
  if (item == 0) {
    // Packed: only a contiguous block can be copied byte by byte.
    int64_t step = 1;
    for (int32_t i = tensor.ndim - 1; i >= 0; --i) {
      if (tensor.shape[i] > 1 && tensor.strides[i] != step && count > 0) {
        api.PyErr_SetString(api.PyExc_BufferError, "Expected contiguous packed elements for a copy");
        return nullptr;
      }
      step *= tensor.shape[i];
    }
  }
  const int64_t nbytes = item == 0 ? (count * bits + 7) / 8 : count * item;
  Storage* copy = AllocateStorage(static_cast<uint64_t>(nbytes));
  if (copy == nullptr) {
    api.PyErr_SetString(api.PyExc_BufferError, "Out of memory for a copy of the tensor");
    return nullptr;
  }
  char* out = static_cast<char*>(copy->data);
  const char* in = static_cast<char*>(tensor.data) + tensor.byte_offset;
  if (item == 0) {
    if (nbytes > 0) memcpy(out, in, static_cast<size_t>(nbytes));
    return copy;
  }
  int64_t index[kMaxNdim] = {};
  for (int64_t n = 0; n < count; ++n) {
    memcpy(out, in, static_cast<size_t>(item));
    out += item;
    for (int32_t axis = tensor.ndim - 1; axis >= 0; --axis) {
      in += tensor.strides[axis] * item;
      if (++index[axis] < tensor.shape[axis]) break;
      in -= tensor.shape[axis] * tensor.strides[axis] * item;
      index[axis] = 0;
    }
  }
  return copy;
}

// Names are static: consumers keep the pointer.
const char* const kLegacy = "dltensor";
const char* const kVersioned = "dltensor_versioned";

// Runs when a capsule is collected: a tensor that nobody consumed is released. An exception may be in flight.
template <class Managed>
void DestroyCapsule(Object* capsule) {
  const char* name = sizeof(Managed) == sizeof(DLManagedTensor) ? kLegacy : kVersioned;
  if (!api.PyCapsule_IsValid(capsule, name)) return;  // consumed, and renamed
  Object *kind, *value, *traceback;
  api.PyErr_Fetch(&kind, &value, &traceback);
  Managed* managed = static_cast<Managed*>(api.PyCapsule_GetPointer(capsule, name));
  if (managed != nullptr) DeleteManaged(managed);
  api.PyErr_Restore(kind, value, traceback);
}

template <class Managed>
Object* MakeCapsule(const Frame& frame, Storage* storage) {
  Managed* managed = ExportManaged<Managed>(frame, storage);
  if (managed == nullptr) {
    api.PyErr_SetString(api.PyExc_BufferError, "Out of memory for a managed tensor");
    return nullptr;
  }
  const char* name = sizeof(Managed) == sizeof(DLManagedTensor) ? kLegacy : kVersioned;
  Object* capsule = api.PyCapsule_New(managed, name, DestroyCapsule<Managed>);
  if (capsule == nullptr) DeleteManaged(managed);
  return capsule;
}

bool ReadPair(Object* value, long long* first, long long* second, const char* what) {
  bool good = TypeOf(value) != nullptr;
  Ref tuple_type(api.PyObject_Type(names.version_tuple));
  good = tuple_type && api.PyType_IsSubtype(TypeOf(value), tuple_type.get()) && api.PyTuple_Size(value) == 2;
  int overflow[2] = {0, 0};
  if (good) {
    *first = api.PyLong_AsLongLongAndOverflow(api.PyTuple_GetItem(value, 0), &overflow[0]);
    *second = api.PyErr_Occurred() ? 0 : api.PyLong_AsLongLongAndOverflow(api.PyTuple_GetItem(value, 1), &overflow[1]);
    good = !api.PyErr_Occurred() && overflow[0] == 0 && overflow[1] == 0;
  }
  if (good) return true;
  api.PyErr_Clear();
  char message[96];
  snprintf(message, sizeof(message), "Expected a tuple of two integers for %s", what);
  api.PyErr_SetString(api.PyExc_TypeError, message);
  return false;
}

struct Request {
  bool versioned;
  int copy;  // -1: None
};

bool SameName(Object* name, Object* interned) {
  return name == interned || api.PyUnicode_Compare(name, interned) == 0;
}

// Keyword arguments of __dlpack__. False with an exception set.
bool ReadRequest(const Body& body, Object* const* values, ptrdiff_t positional, Object* keywords, Request* request) {
  if (positional != 0) {
    api.PyErr_SetString(api.PyExc_TypeError, "Expected keyword arguments only for __dlpack__");
    return false;
  }
  const ptrdiff_t count = keywords == nullptr ? 0 : api.PyTuple_Size(keywords);
  for (ptrdiff_t i = 0; i < count; ++i) {
    Object* name = api.PyTuple_GetItem(keywords, i);
    Object* value = values[i];
    const bool none = value == api._Py_NoneStruct;
    if (SameName(name, names.max_version)) {
      long long major = 0, minor = 0;
      if (!none && !ReadPair(value, &major, &minor, "max_version")) return false;
      request->versioned = major >= 1;
    } else if (SameName(name, names.copy)) {
      if (!none && value != api._Py_TrueStruct && value != api._Py_FalseStruct) {
        api.PyErr_SetString(api.PyExc_ValueError, "Expected True, False or None for copy");
        return false;
      }
      request->copy = none ? -1 : value == api._Py_TrueStruct;
    } else if (SameName(name, names.dl_device)) {
      long long device_type = 0, device_id = 0;
      if (none) continue;
      if (!ReadPair(value, &device_type, &device_id, "dl_device")) return false;
      if (device_type != body.tensor.device.device_type || device_id != body.tensor.device.device_id) {
        api.PyErr_SetString(api.PyExc_BufferError, "Expected the tensor's own device for dl_device");
        return false;
      }
    } else if (SameName(name, names.stream)) {
      if (!none && body.tensor.device.device_type == kDLCPU) {
        api.PyErr_SetString(api.PyExc_ValueError, "Expected None for stream: this tensor is in host memory");
        return false;
      }
    } else {
      api.PyErr_SetString(api.PyExc_TypeError,
                          "Expected stream, max_version, dl_device or copy as keyword of __dlpack__");
      return false;
    }
  }
  return true;
}

// PyTorch up to 2.13 ends the process when it meets a negative stride (pytorch#188047). Its from_dlpack is Python code: the
// frame that called us tells.
bool IsCalledByTorch() {
  Ref sys(api.PyImport_ImportModule("sys"));
  Ref get_frame(sys ? api.PyObject_GetAttrString(sys.get(), "_getframe") : nullptr);
  Ref frame(get_frame ? api.PyObject_CallObject(get_frame.get(), nullptr) : nullptr);
  Ref globals(frame ? api.PyObject_GetAttrString(frame.get(), "f_globals") : nullptr);
  Ref key(api.PyUnicode_InternFromString("__name__"));
  Ref name(globals && key ? api.PyObject_GetItem(globals.get(), key.get()) : nullptr);
  const char* text = name ? api.PyUnicode_AsUTF8AndSize(name.get(), nullptr) : nullptr;
  api.PyErr_Clear();
  return text != nullptr && (strcmp(text, "torch") == 0 || strncmp(text, "torch.", 6) == 0);
}

bool HasNegativeStride(const DLTensor& tensor) {
  for (int32_t i = 0; i < tensor.ndim; ++i) {
    if (tensor.strides[i] < 0) return true;
  }
  return false;
}

Object* DLPack(Object* self, Object* const* values, ptrdiff_t positional, Object* keywords) {
  const Body& body = *BodyOf(self);
  Request request = {false, -1};
  if (!ReadRequest(body, values, positional, keywords, &request)) return nullptr;
  if (request.copy != 1 && HasNegativeStride(body.tensor) && IsCalledByTorch()) {
    if (request.copy == 0) {
      api.PyErr_SetString(api.PyExc_BufferError, "Expected no negative strides for PyTorch, which cannot have them; allow a copy");
      return nullptr;
    }
    request.copy = 1;
  }
  if (!request.versioned && request.copy != 1 && (body.flags & DLPACK_FLAG_BITMASK_READ_ONLY) != 0) {
    api.PyErr_SetString(api.PyExc_BufferError,
                        "Expected max_version=(1, 0) or newer for a read-only tensor: an old capsule cannot say so; or copy=True");
    return nullptr;
  }
  const bool padded = (body.flags & DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED) != 0;
  if (!request.versioned && padded) {
    api.PyErr_SetString(api.PyExc_BufferError, "Expected max_version=(1, 1) or newer for padded elements");
    return nullptr;
  }
  Frame frame;
  FillFrame(body, &frame);
  Storage* storage = body.storage;
  if (request.copy == 1) {
    if (body.tensor.device.device_type != kDLCPU) {
      api.PyErr_SetString(api.PyExc_BufferError, "Expected host memory for a copy");
      return nullptr;
    }
    storage = CopyElements(body.tensor, padded);
    if (storage == nullptr) return nullptr;
    frame.byte_offset = 0;
    frame.flags = (body.flags & DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED) | DLPACK_FLAG_BITMASK_IS_COPIED;
    double step = 1;
    for (int32_t i = frame.ndim - 1; i >= 0; --i) {
      frame.strides[i] = step;
      step *= frame.shape[i] == 0 ? 1 : frame.shape[i];
    }
  }
  Object* capsule = request.versioned ? MakeCapsule<DLManagedTensorVersioned>(frame, storage)
                                      : MakeCapsule<DLManagedTensor>(frame, storage);
  if (request.copy == 1) ReleaseStorage(storage);
  return capsule;
}

Object* Pair(long long first, long long second) {
  Object* pair = api.PyTuple_New(2);
  if (pair == nullptr) return nullptr;
  api.PyTuple_SetItem(pair, 0, api.PyLong_FromLongLong(first));
  api.PyTuple_SetItem(pair, 1, api.PyLong_FromLongLong(second));
  return pair;
}

Object* DLPackDevice(Object* self, Object*) {
  const DLDevice& device = BodyOf(self)->tensor.device;
  return Pair(device.device_type, device.device_id);
}

// NumPy's kind letter and the format of the struct module; 0 for what they have no letter for.
char KindOf(const DLDataType& dtype, char* format) {
  static const char kSigned[] = {0, 'b', 'h', 0, 'i', 0, 0, 0, 'q'};
  static const char kUnsigned[] = {0, 'B', 'H', 0, 'I', 0, 0, 0, 'Q'};
  const int bytes = dtype.bits / 8;
  format[0] = format[1] = format[2] = 0;
  if (dtype.lanes != 1 || dtype.bits % 8 != 0) return 0;
  switch (dtype.code) {
    case 0: format[0] = bytes <= 8 ? kSigned[bytes] : 0; return format[0] ? 'i' : 0;
    case 1: format[0] = bytes <= 8 ? kUnsigned[bytes] : 0; return format[0] ? 'u' : 0;
    case 2: format[0] = bytes == 2 ? 'e' : bytes == 4 ? 'f' : bytes == 8 ? 'd' : 0; return format[0] ? 'f' : 0;
    case 5:
      if (bytes != 8 && bytes != 16) return 0;
      format[0] = 'Z';
      format[1] = bytes == 8 ? 'f' : 'd';
      return 'c';
    case 6: format[0] = '?'; return bytes == 1 ? 'b' : 0;
    default: return 0;
  }
}

Object* IntegerTuple(const int64_t* values, int32_t count, int64_t factor) {
  Object* tuple = api.PyTuple_New(count);
  for (int32_t i = 0; tuple != nullptr && i < count; ++i) {
    api.PyTuple_SetItem(tuple, i, api.PyLong_FromLongLong(values[i] * factor));
  }
  return tuple;
}

Object* Shape(Object* self, void*) {
  const DLTensor& tensor = BodyOf(self)->tensor;
  return IntegerTuple(tensor.shape, tensor.ndim, 1);
}

Object* ArrayInterface(Object* self, void*) {
  const Body& body = *BodyOf(self);
  const DLTensor& tensor = body.tensor;
  char format[8];
  const char kind = KindOf(tensor.dtype, format);
  if (kind == 0 || tensor.device.device_type != kDLCPU) {
    api.PyErr_SetString(api.PyExc_AttributeError, "__array_interface__ needs host memory and a dtype that NumPy has");
    return nullptr;
  }
  char typestr[16];
  const int bytes = tensor.dtype.bits / 8;
  snprintf(typestr, sizeof(typestr), "%c%c%d", bytes == 1 ? '|' : '<', kind, bytes);
  Ref dict(api.PyDict_New());
  Ref shape(IntegerTuple(tensor.shape, tensor.ndim, 1));
  Ref strides(IntegerTuple(tensor.strides, tensor.ndim, bytes));
  Ref typestr_object(api.PyUnicode_FromStringAndSize(typestr, static_cast<ptrdiff_t>(strlen(typestr))));
  Ref version(api.PyLong_FromLongLong(3));
  Ref data(api.PyTuple_New(2));
  if (!dict || !shape || !strides || !typestr_object || !version || !data) return nullptr;
  api.PyTuple_SetItem(data.get(), 0, api.PyLong_FromVoidPtr(tensor.data));
  api.PyTuple_SetItem(data.get(), 1, api.PyBool_FromLong((body.flags & DLPACK_FLAG_BITMASK_READ_ONLY) != 0));
  const bool good = api.PyDict_SetItemString(dict.get(), "shape", shape.get()) == 0 &&
                    api.PyDict_SetItemString(dict.get(), "strides", strides.get()) == 0 &&
                    api.PyDict_SetItemString(dict.get(), "typestr", typestr_object.get()) == 0 &&
                    api.PyDict_SetItemString(dict.get(), "version", version.get()) == 0 &&
                    api.PyDict_SetItemString(dict.get(), "data", data.get()) == 0;
  return good ? dict.take() : nullptr;
}

const int kBufferWritable = 0x1, kBufferFormat = 0x4, kBufferNd = 0x8, kBufferStrides = 0x18;

int GetBuffer(Object* self, Buffer* view, int flags) {
  Body* body = BodyOf(self);
  const DLTensor& tensor = body->tensor;
  view->obj = nullptr;
  const bool readonly = (body->flags & DLPACK_FLAG_BITMASK_READ_ONLY) != 0;
  const char* problem = nullptr;
  int64_t step = 1;
  bool contiguous = true;
  for (int32_t i = tensor.ndim - 1; i >= 0; --i) {
    if (tensor.shape[i] > 1 && tensor.strides[i] != step) contiguous = false;
    step *= tensor.shape[i];
  }
  if (tensor.device.device_type != kDLCPU || KindOf(tensor.dtype, body->format) == 0) {
    problem = "Expected host memory and a dtype that the buffer protocol has";
  } else if (readonly && (flags & kBufferWritable) != 0) {
    problem = "Expected a read-only request: this tensor is read-only";
  } else if (!contiguous && step > 0 && (flags & kBufferStrides) != kBufferStrides) {
    problem = "Expected a request with strides: this tensor is not contiguous";
  }
  const ptrdiff_t item = tensor.dtype.bits / 8;
  if (problem == nullptr && body->buffer_dims == nullptr && tensor.ndim > 0) {
    body->buffer_dims = static_cast<ptrdiff_t*>(malloc(sizeof(ptrdiff_t) * 2 * static_cast<size_t>(tensor.ndim)));
    if (body->buffer_dims == nullptr) problem = "Out of memory for a buffer";
    for (int32_t i = 0; problem == nullptr && i < tensor.ndim; ++i) {
      body->buffer_dims[i] = static_cast<ptrdiff_t>(tensor.shape[i]);
      body->buffer_dims[tensor.ndim + i] = static_cast<ptrdiff_t>(tensor.strides[i]) * item;
    }
  }
  if (problem != nullptr) {
    api.PyErr_SetString(api.PyExc_BufferError, problem);
    return -1;
  }
  view->buf = tensor.data;
  view->len = static_cast<ptrdiff_t>(step) * item;
  view->itemsize = item;
  view->readonly = readonly;
  view->ndim = tensor.ndim;
  view->format = (flags & kBufferFormat) != 0 ? body->format : nullptr;
  view->shape = (flags & kBufferNd) != 0 ? body->buffer_dims : nullptr;
  view->strides = (flags & kBufferStrides) == kBufferStrides ? body->buffer_dims + tensor.ndim : nullptr;
  view->suboffsets = nullptr;
  view->internal = nullptr;
  api.Py_IncRef(self);
  view->obj = self;
  return 0;
}

void Dealloc(Object* self) {
  Body* body = BodyOf(self);
  if (body->storage != nullptr) ReleaseStorage(body->storage);
  free(body->dims);
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
  *out = ExportManaged<DLManagedTensorVersioned>(frame, body.storage);
  if (*out == nullptr) api.PyErr_SetString(api.PyExc_BufferError, "Out of memory for a managed tensor");
  return *out == nullptr ? -1 : 0;
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
  Object* self = api.PyType_GenericAlloc(type, 0);  // zeroed: Dealloc is safe from here on
  if (self == nullptr) return nullptr;
  Body* body = BodyOf(self);
  body->dims = static_cast<int64_t*>(malloc(sizeof(int64_t) * 2 * static_cast<size_t>(frame.ndim) + 1));
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
