#include "tensor_type.h"

#include <stdio.h>
#include <stdlib.h>

#include "../../convert/pass.h"
#include "../../exchange/managed_tensor.h"
#include "../interpreter/prelude.h"
#include "device_exchange.h"
#include "dtypes.h"

namespace dlpack::python {

namespace {

Object* type;

// Describes a body, which was checked when it was made.
Descriptor Describe(const Body& body, Layout* layout) {
  const DLTensor& tensor = body.tensor;
  DescribeLayout(tensor, body.flags & ~DLPACK_FLAG_BITMASK_IS_COPIED,
                 layout);  // one body may be exported several times
  Descriptor descriptor = {layout, tensor.byte_offset, 0};
  if (IsAddressable(tensor.device.device_type) && tensor.data != nullptr) {
    descriptor.byte_offset =
        static_cast<uint64_t>(static_cast<char*>(tensor.data) - static_cast<char*>(body.storage->data));
  }
  return descriptor;
}

// The names are static because consumers keep the pointer.
template <class Managed>
const char* const kName = sizeof(Managed) == sizeof(DLManagedTensor) ? "dltensor" : "dltensor_versioned";

// Runs when Python deletes a capsule. Releases the tensor if no consumer took it. An exception may be set.
template <class Managed>
void DestroyCapsule(Object* capsule) {
  const char* name = kName<Managed>;
  if (!api.PyCapsule_IsValid(capsule, name)) return;  // a consumer took the tensor and renamed the capsule
  SavedError error;
  Managed* managed = static_cast<Managed*>(api.PyCapsule_GetPointer(capsule, name));
  if (managed != nullptr) DeleteManaged(managed);
}

// NULL with an exception set.
template <class Managed>
Managed* NewManaged(const Descriptor& descriptor, Storage* storage) {
  Status status;
  Managed* managed = ExportManaged<Managed>(descriptor, storage, &status);
  return managed != nullptr ? managed : Raise(api.PyExc_BufferError, "Out of memory for a managed tensor");
}

template <class Managed>
Object* MakeCapsule(const Descriptor& descriptor, Storage* storage) {
  Managed* managed = NewManaged<Managed>(descriptor, storage);
  if (managed == nullptr) return nullptr;
  Object* capsule = api.PyCapsule_New(managed, kName<Managed>, DestroyCapsule<Managed>);
  if (capsule == nullptr) DeleteManaged(managed);
  return capsule;
}

// The two integers of an argument of __dlpack__. False with an exception set.
bool ReadPairFor(const char* what, Object* value, long long* first, long long* second) {
  if (ReadPair(value, first, second)) return true;
  api.PyErr_Clear();
  char message[96];
  snprintf(message, sizeof(message), "Expected a tuple of two integers for %s", what);
  return Raise(api.PyExc_TypeError, message);
}

struct Request {
  bool versioned;
  int copy;  // -1: None
  bool to_host;
  Object* stream;  // borrowed; NULL: not given
};

bool SameName(Object* name, Object* interned) { return name == interned || api.PyUnicode_Compare(name, interned) == 0; }

// Reads one argument of __dlpack__. False with an exception set.
bool ReadArgument(const Body& body, Object* name, Object* value, Request* request) {
  const bool none = value == api._Py_NoneStruct;
  if (SameName(name, names.max_version)) {
    long long major = 0, minor = 0;
    if (!none && !ReadPairFor("max_version", value, &major, &minor)) return false;
    request->versioned = major >= 1;
  } else if (SameName(name, names.copy)) {
    if (!none && value != api._Py_TrueStruct && value != api._Py_FalseStruct) {
      return Raise(api.PyExc_ValueError, "Expected True, False or None for copy");
    }
    request->copy = none ? -1 : value == api._Py_TrueStruct;
  } else if (SameName(name, names.dl_device)) {
    long long device_type = 0, device_id = 0;
    if (none) return true;
    if (!ReadPairFor("dl_device", value, &device_type, &device_id)) return false;
    const DLDevice& device = body.tensor.device;
    request->to_host = device_type == kDLCPU && device_id == 0 && cuda::IsCudaDevice(device.device_type);
    if (!request->to_host && (device_type != device.device_type || device_id != device.device_id)) {
      return Raise(api.PyExc_BufferError, "Expected the tensor's own device for dl_device");
    }
  } else if (SameName(name, names.stream)) {
    if (!none && body.tensor.device.device_type == kDLCPU) {
      return Raise(api.PyExc_ValueError, "Expected None for stream: this tensor is in host memory");
    }
    request->stream = value;
  } else {
    return Raise(api.PyExc_TypeError, "Expected stream, max_version, dl_device or copy as keyword of __dlpack__");
  }
  return true;
}

// Reads the arguments of __dlpack__. The stream may be positional. False with an exception set.
bool ReadRequest(const Body& body, Object* const* values, ptrdiff_t positional, Object* keywords, Request* request) {
  if (positional > 1) return Raise(api.PyExc_TypeError, "Expected a stream and keyword arguments for __dlpack__");
  if (positional == 1 && !ReadArgument(body, names.stream, values[0], request)) return false;
  const ptrdiff_t count = keywords == nullptr ? 0 : api.PyTuple_Size(keywords);
  for (ptrdiff_t i = 0; i < count; ++i) {
    if (!ReadArgument(body, api.PyTuple_GetItem(keywords, i), values[positional + i], request)) return false;
  }
  return true;
}

// PyTorch up to 2.13 ends the process when it meets a negative stride (pytorch#188047), and writes to read-only memory.
// Its from_dlpack is Python code, so it appears in the Python call stack even when another producer calls us for it.
bool IsCalledByTorch() {
  const Ref answer(CallPrelude("is_called_by_torch"));
  api.PyErr_Clear();
  return answer.get() == api._Py_TrueStruct;
}

bool HasNegativeStride(const DLTensor& tensor) {
  for (int32_t i = 0; i < tensor.ndim; ++i) {
    if (tensor.strides[i] < 0) return true;
  }
  return false;
}

// np.from_dlpack looks at the dtype after this call. An element of less than a byte has no place in NumPy's table.
void Register(const DLDataType& dtype) {
  if (dtype.lanes != 1 || dtype.bits % 8 != 0 || FindDType(dtype) >= 0) return;
  const Ref code(api.PyLong_FromLongLong(dtype.code));
  const Ref bits(api.PyLong_FromLongLong(dtype.bits));
  const Ref done(code && bits ? CallPrelude("register_ml_dtype", code.get(), bits.get()) : nullptr);
  api.PyErr_Clear();
}

Object* DLPack(Object* self, Object* const* values, ptrdiff_t positional, Object* keywords) {
  const Body& body = *BodyOf(self);
  Request request = {false, -1, false, nullptr};
  if (!ReadRequest(body, values, positional, keywords, &request)) return nullptr;
  Register(body.tensor.dtype);
  const bool on_cuda = cuda::IsCudaDevice(body.tensor.device.device_type);
  cuda::StreamHandle stream = nullptr;
  if (on_cuda && !ReadStream(request.stream == nullptr ? api._Py_NoneStruct : request.stream, &stream)) return nullptr;
  const bool is_copied = (body.flags & DLPACK_FLAG_BITMASK_IS_COPIED) != 0;
  if (request.copy == 0 && is_copied) {
    return Raise(
        api.PyExc_BufferError,
        "Expected memory that Python may keep for copy=False, but this tensor lies in a JavaScript buffer that "
        "its owner can move, and Python has received a copy; use Tensor.from or Tensor.adopt, or allow a copy");
  }
  if (is_copied && request.copy < 0 && IsCalledByTorch() && !WarnOfCopy()) return nullptr;
  if (request.to_host) {
    if (request.copy == 0) {
      return Raise(api.PyExc_BufferError, "Expected copy=None or True: the tensor is not in host memory");
    }
    request.copy = 1;
  }
  const bool readonly = (body.flags & DLPACK_FLAG_BITMASK_READ_ONLY) != 0;
  if (request.copy != 1 && (readonly || HasNegativeStride(body.tensor)) && IsCalledByTorch()) {
    if (request.copy == 0) {
      return Raise(api.PyExc_BufferError,
                   "Expected a writable tensor without negative strides for PyTorch, which has no other; allow a copy");
    }
    request.copy = 1;
  }
  if (!request.versioned && request.copy != 1 && readonly) {
    return Raise(api.PyExc_BufferError,
                 "Expected max_version=(1, 0) or newer for a read-only tensor, because an old capsule has no flag for "
                 "it; or copy=True");
  }
  const bool padded = (body.flags & DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED) != 0;
  if (!request.versioned && padded) {
    return Raise(api.PyExc_BufferError, "Expected max_version=(1, 1) or newer for padded elements");
  }
  LayoutRoom layout;
  Descriptor descriptor = Describe(body, &layout);
  // JavaScript does not see what is written to a copy. PyTorch would copy read-only memory once more.
  if (is_copied && request.versioned && !IsCalledByTorch()) layout.flags |= DLPACK_FLAG_BITMASK_READ_ONLY;
  Storage* storage = body.storage;
  if (request.copy == 1) {
    storage = on_cuda && !request.to_host ? CopyDeviceElements(body, false) : CopyToHost(body, padded);
    if (storage == nullptr) return nullptr;
    if (request.to_host) layout.device = DLDevice{kDLCPU, 0};
    descriptor.byte_offset = 0;
    layout.flags = (body.flags & DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED) | DLPACK_FLAG_BITMASK_IS_COPIED;
    int64_t step = 1;
    for (int32_t i = layout.ndim - 1; i >= 0; --i) {
      layout.strides[i] = step;
      step *= layout.shape[i] == 0 ? 1 : layout.shape[i];
    }
    Measure(&layout);
  }
  const bool is_ready = !on_cuda || request.to_host || HandOver(storage, body.tensor.device, stream);
  Object* capsule = !is_ready           ? nullptr
                    : request.versioned ? MakeCapsule<DLManagedTensorVersioned>(descriptor, storage)
                                        : MakeCapsule<DLManagedTensor>(descriptor, storage);
  if (request.copy == 1) ReleaseStorage(storage);
  return capsule;
}

Object* DLPackDevice(Object* self, Object*) {
  const DLDevice& device = BodyOf(self)->tensor.device;
  const int64_t pair[] = {device.device_type, device.device_id};
  return IntegerTuple(pair, 2);
}

// For the prelude: address, shape, strides, dtype and flags.
Object* Fields(Object* self, Object*) {
  // NumPy 1 treats a NULL pointer as missing memory, even for an array without elements.
  static char nothing;
  const Body& body = *BodyOf(self);
  const DLTensor& tensor = body.tensor;
  const int64_t dtype[] = {tensor.dtype.code, tensor.dtype.bits, tensor.dtype.lanes};
  const bool is_missing = tensor.data == nullptr && tensor.device.device_type == kDLCPU;
  const bool is_addressable = IsAddressable(tensor.device.device_type);
  char* data = static_cast<char*>(tensor.data) + (is_addressable ? tensor.byte_offset : 0);
  return TupleOf(api.PyLong_FromVoidPtr(is_missing ? &nothing : data), IntegerTuple(tensor.shape, tensor.ndim),
                 IntegerTuple(tensor.strides, tensor.ndim), IntegerTuple(dtype, 3),
                 api.PyLong_FromLongLong(body.flags));
}

// For the prelude: the number of our current stream, for which the memory is ready.
Object* Offer(Object* self, Object*) {
  const Body& body = *BodyOf(self);
  uint64_t stream = 1;
  if (body.tensor.data != nullptr && !OfferOnCurrentStream(body, &stream)) return nullptr;
  return api.PyLong_FromLongLong(static_cast<long long>(stream));
}

void Dealloc(Object* self) {
  Body* body = BodyOf(self);
  if (body->storage != nullptr) ReleaseStorage(body->storage);
  if (body->dims != body->small_dims) free(body->dims);
  free(body->buffer_dims);
  Object* own_type = TypeOf(self);
  api.PyObject_Free(self);
  api.Py_DecRef(own_type);  // an instance of a heap type holds a reference to its type
}

// Only JavaScript makes tensors of this type.
Object* RefuseNew(Object*, Object*, Object*) {
  return Raise(api.PyExc_TypeError, "dlpack.Tensor is made by passing a JavaScript tensor to Python");
}

// For the exchange API, whose C caller holds the GIL. The caller works on our current stream, or makes its own stream
// wait for it.
bool IsOffered(const Body& body) {
  // A C caller cannot ask for a copy, and gets no flag that says that it has one.
  if ((body.flags & DLPACK_FLAG_BITMASK_IS_COPIED) != 0 && !WarnOfCopy()) return false;
  uint64_t stream;
  return !cuda::IsCudaDevice(body.tensor.device.device_type) || OfferOnCurrentStream(body, &stream);
}

int FromPyObject(void* object, DLManagedTensorVersioned** out) {
  const Body& body = *BodyOf(static_cast<Object*>(object));
  *out = nullptr;
  if (!IsOffered(body)) return -1;
  LayoutRoom layout;
  *out = NewManaged<DLManagedTensorVersioned>(Describe(body, &layout), body.storage);
  return *out == nullptr ? -1 : 0;
}

int ToPyObject(DLManagedTensorVersioned* managed, void** out) {
  *out = nullptr;
  Imported imported;
  Status status;
  Storage* storage = ImportManaged(managed, nullptr, &imported, &status);
  if (storage == nullptr) return Raise(api.PyExc_BufferError, "Expected a sound managed tensor");
  const Layout& layout = *imported.tensor.layout;
  if (!IsKnownDType(layout.dtype) || !IsKnownDevice(layout.device.device_type)) {
    ReleaseStorage(storage);
    return Raise(api.PyExc_BufferError, "Expected a dtype and a device that this version of dlpack knows");
  }
  *out = NewTensor(imported.tensor, storage);
  ReleaseStorage(storage);
  return *out == nullptr ? -1 : 0;
}

int Borrow(void* object, DLTensor* out) {
  if (!IsOffered(*BodyOf(static_cast<Object*>(object)))) return -1;
  *out = BodyOf(static_cast<Object*>(object))->tensor;
  return 0;
}

const int kFastCallKeywords = 0x0080 | 0x0002, kNoArguments = 0x0004;

MethodDef methods[] = {
    {"__dlpack__", reinterpret_cast<void*>(DLPack), kFastCallKeywords,
     "__dlpack__(stream=None, *, max_version=None, dl_device=None, copy=None)"},
    {"__dlpack_device__", reinterpret_cast<void*>(DLPackDevice), kNoArguments, "(device_type, device_id)"},
    {"_fields", reinterpret_cast<void*>(Fields), kNoArguments, nullptr},
    {"_offer", reinterpret_cast<void*>(Offer), kNoArguments, nullptr},
    {"tobytes", reinterpret_cast<void*>(ToBytes), kNoArguments, "The elements side by side, as bytes."},
    {nullptr, nullptr, 0, nullptr},
};

}  // namespace

bool WarnOfCopy() {
  const Ref warned(CallPrelude("warn_of_copy"));
  return warned.get() != nullptr;
}

Storage* CopyToHost(const Body& body, bool is_padded) {
  const DLTensor& tensor = body.tensor;
  if (cuda::IsCudaDevice(tensor.device.device_type)) return CopyDeviceElements(body, true);
  if (tensor.device.device_type != kDLCPU) return Raise(api.PyExc_BufferError, "Expected host memory for a copy");
  uint64_t nbytes;
  if (!CountBytes(tensor, !is_padded, &nbytes)) return nullptr;
  Storage* copy = CopyElements(tensor, is_padded, nbytes);
  if (copy == nullptr) api.PyErr_SetString(api.PyExc_BufferError, "Out of memory for a copy of the tensor");
  return copy;
}

Object* MakeTensorType() {
  // The slot numbers of Include/typeslots.h.
  const int bf_getbuffer = 1, tp_dealloc = 52, tp_doc = 56, tp_methods = 64, tp_new = 65;
  static TypeSlot slots[] = {
      {bf_getbuffer, reinterpret_cast<void*>(GetBuffer)},
      {tp_dealloc, reinterpret_cast<void*>(Dealloc)},
      {tp_doc, const_cast<char*>("A JavaScript tensor: the same memory, by DLPack.")},
      {tp_methods, methods},
      {tp_new, reinterpret_cast<void*>(RefuseNew)},
      {0, nullptr},
  };
  TypeSpec spec = {"dlpack.Tensor", static_cast<int>(api.head_size + sizeof(Body)), 0, 1u << 18, slots};
  type = api.PyType_FromSpec(&spec);
  if (type == nullptr) return nullptr;
  DLPackExchangeAPI* table = ExchangeApi();
  table->managed_tensor_from_py_object_no_sync = FromPyObject;
  table->managed_tensor_to_py_object_no_sync = ToPyObject;
  table->dltensor_from_py_object_no_sync = Borrow;
  Ref capsule(api.PyCapsule_New(table, "dlpack_exchange_api", nullptr));
  Ref number(api.PyLong_FromVoidPtr(table));
  const bool good = capsule && number && api.PyObject_SetAttr(type, names.dlpack_api, capsule.get()) == 0 &&
                    api.PyObject_SetAttr(type, names.dlpack_api_address, number.get()) == 0;
  return good ? NewRef(type) : nullptr;
}

Object* NewTensor(const Descriptor& descriptor, Storage* storage, bool is_copy) {
  if (!IsInside(descriptor, storage->nbytes)) {
    return Raise(api.PyExc_ValueError, "Expected a tensor that lies inside its memory");
  }
  Ref self(api.PyType_GenericAlloc(type, 0));  // zeroed, so Dealloc is safe from here on
  if (!self) return nullptr;
  Body* body = BodyOf(self.get());
  const size_t room = sizeof(int64_t) * 2 * static_cast<size_t>(descriptor.layout->ndim);
  body->dims = room <= sizeof(body->small_dims) ? body->small_dims : static_cast<int64_t*>(malloc(room));
  if (body->dims == nullptr) return Raise(api.PyExc_BufferError, "Out of memory for a tensor");
  body->tensor = TensorOver(descriptor, storage->data, body->dims);
  // JavaScript may share the memory, even if it began as a copy, unless the copy was made for this object.
  body->flags = descriptor.layout->flags & ~uint32_t{DLPACK_FLAG_BITMASK_IS_COPIED};
  if (is_copy) body->flags |= DLPACK_FLAG_BITMASK_IS_COPIED;
  RetainStorage(storage);
  body->storage = storage;
  return self.take();
}

}  // namespace dlpack::python
