#include <stdio.h>
#include <stdlib.h>

#include "array_interface.h"
#include "calls.h"

namespace dlpack::python {

namespace {

// NumPy's kind letter and the format of the struct module; 0 for a dtype without a letter.
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
  // NumPy shows foreign dtypes as raw bytes. ml_dtypes, for example, can view them with their own dtype.
  if (kind == 0 && (bits % 8 == 0 || padded)) kind = 'V';
  if (kind == 0 || tensor.device.device_type != kDLCPU) {
    return Raise(api.PyExc_AttributeError, "__array_interface__ needs host memory and elements of whole bytes");
  }
  char typestr[16];
  const int bytes = (bits + 7) / 8;
  snprintf(typestr, sizeof(typestr), "%c%c%d", bytes == 1 || kind == 'V' ? '|' : '<', kind, bytes);
  // NumPy 1 treats a NULL pointer as missing memory, even for an array without elements.
  static char nothing;
  return NewInterface(body, tensor.data == nullptr ? &nothing : tensor.data, typestr, bytes);
}

// Flags of Py_buffer requests. The flags for contiguous memory include the flag for strides, which includes the flag
// for a shape.
static const int kBufferWritable = 0x1, kBufferFormat = 0x4, kBufferNd = 0x8, kBufferStrides = 0x18,
                 kBufferRowMajor = 0x38, kBufferColumnMajor = 0x58, kBufferAnyMajor = 0x98;

static bool Asks(int flags, int wanted) { return (flags & wanted) == wanted; }

// The reason why a request is refused; NULL when it gets the buffer.
static const char* RefuseBuffer(const Body& body, bool has_format, int flags) {
  const DLTensor& tensor = body.tensor;
  const bool is_row_major = IsRowMajor(tensor), is_column_major = IsColumnMajor(tensor);
  if (tensor.device.device_type != kDLCPU || !has_format)
    return "Expected host memory and a dtype that the buffer protocol has";
  if ((body.flags & DLPACK_FLAG_BITMASK_READ_ONLY) != 0 && Asks(flags, kBufferWritable))
    return "Expected a read-only request: this tensor is read-only";
  if (Asks(flags, kBufferRowMajor) && !is_row_major) return "Expected a row-major tensor, which this one is not";
  if (Asks(flags, kBufferColumnMajor) && !is_column_major)
    return "Expected a column-major tensor, which this one is not";
  if (Asks(flags, kBufferAnyMajor) && !is_row_major && !is_column_major)
    return "Expected a contiguous tensor, which this one is not";
  if (!Asks(flags, kBufferStrides) && !is_row_major)
    return "Expected a request with strides: this tensor is not row-major";
  // Without a shape the buffer consists of bytes.
  if (Asks(flags, kBufferFormat) && !Asks(flags, kBufferNd))
    return "Expected a request for a shape along with a format";
  return nullptr;
}

// Made once. In a free-threaded build two threads may make them at the same time; one result is freed. False when out
// of memory.
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
  const char* problem = RefuseBuffer(*body, KindOf(tensor.dtype, body->format) != 0, flags);
  const ptrdiff_t item = tensor.dtype.bits / 8;
  if (problem == nullptr && !MakeBufferDims(body, item)) problem = "Out of memory for a buffer";
  if (problem != nullptr) {
    api.PyErr_SetString(api.PyExc_BufferError, problem);
    return -1;
  }
  ptrdiff_t count = 1;
  for (int32_t i = 0; i < tensor.ndim; ++i) count *= static_cast<ptrdiff_t>(tensor.shape[i]);
  view->buf = tensor.data;
  view->len = count * item;
  view->itemsize = item;
  view->readonly = (body->flags & DLPACK_FLAG_BITMASK_READ_ONLY) != 0;
  view->ndim = Asks(flags, kBufferNd) ? tensor.ndim : 1;
  view->format = Asks(flags, kBufferFormat) ? body->format : nullptr;
  view->shape = Asks(flags, kBufferNd) ? body->buffer_dims : nullptr;
  view->strides =
      Asks(flags, kBufferStrides) && body->buffer_dims != nullptr ? body->buffer_dims + tensor.ndim : nullptr;
  view->suboffsets = nullptr;
  view->internal = nullptr;
  api.Py_IncRef(self);
  view->obj = self;
  return 0;
}

// The elements in row-major order, as numpy.ndarray.tobytes returns them.
Object* ToBytes(Object* self, Object*) {
  const Body& body = *BodyOf(self);
  const bool is_padded = (body.flags & DLPACK_FLAG_BITMASK_IS_SUBBYTE_TYPE_PADDED) != 0;
  Storage* copy = CopyToHost(body, is_padded);
  if (copy == nullptr) return nullptr;
  Object* bytes = api.PyBytes_FromStringAndSize(static_cast<char*>(copy->data), static_cast<ptrdiff_t>(copy->nbytes));
  ReleaseStorage(copy);
  return bytes;
}

}  // namespace dlpack::python
