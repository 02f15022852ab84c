#include <stdlib.h>

#include "dtypes.h"
#include "tensor_type.h"

namespace dlpack::python {

// Flags of Py_buffer requests. The flags for contiguous memory include the flag for strides, which includes the flag
// for a shape.
static const int kBufferWritable = 0x1, kBufferFormat = 0x4, kBufferNd = 0x8, kBufferStrides = 0x18,
                 kBufferRowMajor = 0x38, kBufferColumnMajor = 0x58, kBufferAnyMajor = 0x98, kBufferIndirect = 0x118;

static bool Asks(int flags, int wanted) { return (flags & wanted) == wanted; }

// The reason why a request is refused; NULL when it gets the buffer.
static const char* RefuseBuffer(const Body& body, bool has_format, int flags) {
  const DLTensor& tensor = body.tensor;
  const bool is_row_major = IsRowMajor(tensor), is_column_major = IsContiguous(tensor, false);
  if (tensor.device.device_type != kDLCPU || !has_format)
    return "Expected host memory and a dtype that the buffer protocol has";
  if ((body.flags & DLPACK_FLAG_BITMASK_READ_ONLY) != 0 && Asks(flags, kBufferWritable))
    return "Expected a read-only request: this tensor is read-only";
  // A buffer cannot say that it is a copy. NumPy and memoryview ask for everything that a buffer can have, and NumPy
  // then asks __array__, which can say it. A reader of bytes gets them.
  if ((body.flags & DLPACK_FLAG_BITMASK_IS_COPIED) != 0 &&
      (Asks(flags, kBufferWritable) || Asks(flags, kBufferIndirect)))
    return "Expected memory that JavaScript and Python share but this tensor is a copy of memory that JavaScript can "
           "move; read it with x.numpy() or x.tobytes(), or pass Tensor.from(array) or Tensor.adopt(array)";
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
  const int dtype = FindDType(tensor.dtype);
  const char* problem = RefuseBuffer(*body, dtype >= 0, flags);
  const ptrdiff_t item = tensor.dtype.bits / 8;
  if (problem == nullptr && !MakeBufferDims(body, item)) problem = "Out of memory for a buffer";
  if (problem != nullptr) return Raise(api.PyExc_BufferError, problem);
  ptrdiff_t count = 1;
  for (int32_t i = 0; i < tensor.ndim; ++i) count *= static_cast<ptrdiff_t>(tensor.shape[i]);
  view->buf = tensor.data;
  view->len = count * item;
  view->itemsize = item;
  view->readonly = (body->flags & (DLPACK_FLAG_BITMASK_READ_ONLY | DLPACK_FLAG_BITMASK_IS_COPIED)) != 0;
  view->ndim = Asks(flags, kBufferNd) ? tensor.ndim : 1;
  view->format = Asks(flags, kBufferFormat) ? const_cast<char*>(kDTypes[dtype].format) : nullptr;
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
