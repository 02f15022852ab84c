#include "tensor_object.h"

#include <stdlib.h>

namespace dlpack {
namespace tvm_ffi {

// Any thread. Strong: the contents go; weak: the block does.
static void DeleteTensorObject(void* self, int flags) {
  TensorObject* object = static_cast<TensorObject*>(self);
  if ((flags & kTVMFFIObjectDeleterFlagBitMaskStrong) != 0) {
    EndTrace(object->trace);
    Count(counts.exports, -1);
    if (object->storage != nullptr) ReleaseStorage(object->storage);
  }
  if ((flags & kTVMFFIObjectDeleterFlagBitMaskWeak) != 0) free(object);
}

TensorObject* CreateTensorObject(const Frame& frame, void* data, Storage* storage) {
  const int32_t ndim = frame.ndim;
  void* block = malloc(sizeof(TensorObject) + sizeof(int64_t) * 2 * static_cast<size_t>(ndim));
  if (block == nullptr) return nullptr;
  TensorObject* object = static_cast<TensorObject*>(block);
  object->header = TVMFFIObject{(uint64_t{1} << 32) | 1, kTVMFFITensor, 0, DeleteTensorObject};
  bool empty = false;
  for (int32_t i = 0; i < ndim; ++i) {
    object->dims[i] = static_cast<int64_t>(frame.shape[i]);
    object->dims[ndim + i] = static_cast<int64_t>(frame.strides[i]);
    if (object->dims[i] == 0) empty = true;
  }
  // The offset goes into the pointer wherever it can: kernels that read data_ptr() know of no other.
  const uint64_t offset = static_cast<uint64_t>(frame.byte_offset);
  DLTensor& tensor = object->tensor;
  tensor.data = empty ? nullptr : static_cast<char*>(data) + (frame.addressable ? offset : 0);
  tensor.byte_offset = empty || frame.addressable ? 0 : offset;
  tensor.device = DLDevice{frame.device_type, frame.device_id};
  tensor.ndim = ndim;
  tensor.dtype = DLDataType{frame.dtype_code, frame.dtype_bits, frame.dtype_lanes};
  tensor.shape = object->dims;
  tensor.strides = object->dims + ndim;
  object->storage = storage;
  object->trace = frame.trace == 0 ? nullptr : BeginTrace(frame.trace);
  object->flags = frame.flags;
  object->byte_offset = frame.byte_offset;
  if (storage != nullptr) RetainStorage(storage);
  Count(counts.exports, 1);
  return object;
}

TensorObject* AsOwnTensor(TVMFFIObject* object) {
  if (object->deleter != DeleteTensorObject) return nullptr;
  TensorObject* own = reinterpret_cast<TensorObject*>(object);
  return own->storage == nullptr ? nullptr : own;
}

Storage* DescribeTensorObject(const TensorObject& object, Frame* frame) {
  const DLTensor& tensor = object.tensor;
  frame->ndim = tensor.ndim;
  frame->dtype_code = tensor.dtype.code;
  frame->dtype_bits = tensor.dtype.bits;
  frame->dtype_lanes = tensor.dtype.lanes;
  frame->device_type = tensor.device.device_type;
  frame->device_id = tensor.device.device_id;
  frame->flags = static_cast<uint32_t>(object.flags);
  frame->byte_offset = object.byte_offset;
  frame->nbytes = static_cast<double>(object.storage->nbytes);
  for (int32_t i = 0; i < tensor.ndim; ++i) {
    frame->shape[i] = static_cast<double>(object.dims[i]);
    frame->strides[i] = static_cast<double>(object.dims[tensor.ndim + i]);
  }
  frame->kind = 0;
  frame->status = kOk;
  RetainStorage(object.storage);
  return object.storage;
}

}  // namespace tvm_ffi
}  // namespace dlpack
