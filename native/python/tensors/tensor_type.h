// The Python type of our tensors: __dlpack__, the exchange API table, the buffer protocol and the array interface.
#pragma once

#include "../../exchange/descriptor.h"
#include "../../memory/storage.h"
#include "../objects/calls.h"

namespace dlpack::python {

// Makes the type. A new reference, or NULL with an exception set. GIL held, once for each start of Python.
Object* MakeTensorType();

// A new Python tensor with its own reference to the storage. `is_copy`: the memory was copied for this object. GIL
// held; NULL with a Python exception set.
Object* NewTensor(const Descriptor& descriptor, Storage* storage, bool is_copy = false);

// The contents of a tensor, after the object header.
struct Body {
  Storage* storage;
  DLTensor tensor;  // shape and strides point into `dims`
  uint32_t flags;   // IS_COPIED: JavaScript memory that Python cannot keep was copied for this object
  int64_t* dims;    // `small_dims`, or an allocation of their own for more axes
  int64_t small_dims[2 * 4];
  ptrdiff_t* buffer_dims;  // shape and strides in bytes for the buffer protocol, made on demand
};

inline Body* BodyOf(Object* self) { return reinterpret_cast<Body*>(reinterpret_cast<char*>(self) + api.head_size); }

// Size in bytes of all elements without gaps. Repeated axes can make it too large: false with an exception set. GIL
// held.
inline bool CountBytes(const DLTensor& tensor, bool is_packed, uint64_t* nbytes) {
  int64_t bits = int64_t{tensor.dtype.bits} * tensor.dtype.lanes;
  if (!is_packed) bits = (bits + 7) / 8 * 8;
  bool fits = true;
  *nbytes = 0;
  for (int32_t i = 0; i < tensor.ndim; ++i) {
    if (tensor.shape[i] == 0) return true;
    fits = fits && !__builtin_mul_overflow(bits, tensor.shape[i], &bits);
  }
  *nbytes = (static_cast<uint64_t>(bits) + 7) / 8;
  return fits || Raise(api.PyExc_BufferError, "Expected less than 2^63 bits for a copy of the tensor");
}

// array_views.cc: the buffer protocol. GIL held.
int GetBuffer(Object* self, Buffer* view, int flags);
Object* ToBytes(Object* self, Object*);

// tensor_type.cc: a row-major copy in new host memory, also of device memory. NULL with an exception set. GIL held.
Storage* CopyToHost(const Body& body, bool is_padded);

// Warns, once for each line of Python, that what a library writes to a copy of memory of JavaScript is lost. False with
// an exception set: the warning, where the program has made warnings errors. Runs Python code.
bool WarnOfCopy();

// True when the elements are contiguous in row-major or column-major order, or when there are none.
inline bool IsContiguous(const DLTensor& tensor, bool is_row_major) {
  int64_t step = 1;
  bool contiguous = true;
  for (int32_t n = 0; n < tensor.ndim; ++n) {
    const int32_t i = is_row_major ? tensor.ndim - 1 - n : n;
    if (tensor.shape[i] == 0) return true;
    if (tensor.shape[i] != 1 && tensor.strides[i] != step) contiguous = false;
    step *= tensor.shape[i];
  }
  return contiguous;
}
inline bool IsRowMajor(const DLTensor& tensor) { return IsContiguous(tensor, true); }

// A new tuple of the values, each multiplied by the factor. GIL held; NULL with an exception set.
inline Object* IntegerTuple(const int64_t* values, int32_t count, int64_t factor = 1) {
  return MakeTuple(count, [=](ptrdiff_t i) { return api.PyLong_FromLongLong(values[i] * factor); });
}

}  // namespace dlpack::python
