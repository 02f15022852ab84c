#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime.h"
#include "tensor_body.h"

namespace dlpack {
namespace python {

namespace {

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

}  // namespace

Object* Shape(Object* self, void*) {
  const DLTensor& tensor = BodyOf(self)->tensor;
  return IntegerTuple(tensor.shape, tensor.ndim, 1);
}

Object* ArrayInterface(Object* self, void*) {
  const Body& body = *BodyOf(self);
  const DLTensor& tensor = body.tensor;
  char format[8];
  char kind = KindOf(tensor.dtype, format);
  const int bits = tensor.dtype.bits * tensor.dtype.lanes;
  const bool padded = (body.flags & DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED) != 0;
  // As NumPy shows dtypes that are not its own: so many bytes. ml_dtypes, for one, can view them as what they are.
  if (kind == 0 && (bits % 8 == 0 || padded)) kind = 'V';
  if (kind == 0 || tensor.device.device_type != kDLCPU) {
    api.PyErr_SetString(api.PyExc_AttributeError, "__array_interface__ needs host memory and elements of whole bytes");
    return nullptr;
  }
  char typestr[16];
  const int bytes = (bits + 7) / 8;
  snprintf(typestr, sizeof(typestr), "%c%c%d", bytes == 1 || kind == 'V' ? '|' : '<', kind, bytes);
  Ref dict(api.PyDict_New());
  Ref shape(IntegerTuple(tensor.shape, tensor.ndim, 1));
  Ref strides(IntegerTuple(tensor.strides, tensor.ndim, bytes));
  Ref typestr_object(api.PyUnicode_FromStringAndSize(typestr, static_cast<ptrdiff_t>(strlen(typestr))));
  Ref version(api.PyLong_FromLongLong(3));
  Ref data(api.PyTuple_New(2));
  if (!dict || !shape || !strides || !typestr_object || !version || !data) return nullptr;
  // NumPy 1 takes NULL for an object without memory, also where there are no elements.
  static char nothing;
  api.PyTuple_SetItem(data.get(), 0, api.PyLong_FromVoidPtr(tensor.data == nullptr ? &nothing : tensor.data));
  api.PyTuple_SetItem(data.get(), 1, api.PyBool_FromLong((body.flags & DLPACK_FLAG_BITMASK_READ_ONLY) != 0));
  const bool good = api.PyDict_SetItemString(dict.get(), "shape", shape.get()) == 0 &&
                    api.PyDict_SetItemString(dict.get(), "strides", strides.get()) == 0 &&
                    api.PyDict_SetItemString(dict.get(), "typestr", typestr_object.get()) == 0 &&
                    api.PyDict_SetItemString(dict.get(), "version", version.get()) == 0 &&
                    api.PyDict_SetItemString(dict.get(), "data", data.get()) == 0;
  return good ? dict.take() : nullptr;
}

// Flags of Py_buffer requests.
static const int kBufferWritable = 0x1, kBufferFormat = 0x4, kBufferNd = 0x8, kBufferStrides = 0x18;

// Made once; where two threads without a GIL make them at once, one pair goes again. False when out of memory.
static bool MakeBufferDims(Body* body, ptrdiff_t item) {
  const DLTensor& tensor = body->tensor;
  if (tensor.ndim == 0 || __atomic_load_n(&body->buffer_dims, __ATOMIC_ACQUIRE) != nullptr) return true;
  ptrdiff_t* dims = static_cast<ptrdiff_t*>(malloc(sizeof(ptrdiff_t) * 2 * static_cast<size_t>(tensor.ndim)));
  if (dims == nullptr) return false;
  for (int32_t i = 0; i < tensor.ndim; ++i) {
    dims[i] = static_cast<ptrdiff_t>(tensor.shape[i]);
    dims[tensor.ndim + i] = static_cast<ptrdiff_t>(tensor.strides[i]) * item;
  }
  ptrdiff_t* before = nullptr;
  if (!__atomic_compare_exchange_n(&body->buffer_dims, &before, dims, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
    free(dims);
  return true;
}

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
  if (problem == nullptr && !MakeBufferDims(body, item)) problem = "Out of memory for a buffer";
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

}  // namespace python
}  // namespace dlpack
