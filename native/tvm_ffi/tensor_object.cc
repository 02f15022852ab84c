#include "tensor_object.h"

#include <stdlib.h>

namespace dlpack::tvm_ffi {

// Any thread. The strong flag releases the contents, the weak flag frees the block.
static void DeleteTensorObject(void* self, int flags) {
  TensorObject* object = static_cast<TensorObject*>(self);
  ThreadCache* cache = this_thread;
  if ((flags & kTVMFFIObjectDeleterFlagBitMaskStrong) != 0) {
    EndTrace(object->trace);
    Count(cache, counts.exports, -1);
    if (object->storage != nullptr) ReleaseStorage(object->storage, cache);
  }
  if ((flags & kTVMFFIObjectDeleterFlagBitMaskWeak) == 0) return;
  if (object->is_block) {
    GiveBlockBack(cache, kLargeBlock, object);
  } else {
    free(object);
  }
}

// A strong and a weak count, each of one reference.
static const uint64_t kSoleReference = (uint64_t{1} << 32) | 1;

bool DeleteSoleReference(TensorObject* object) {
  if (__atomic_load_n(&object->header.combined_ref_count, __ATOMIC_ACQUIRE) != kSoleReference) return false;
  DeleteTensorObject(object, kTVMFFIObjectDeleterFlagBitMaskStrong | kTVMFFIObjectDeleterFlagBitMaskWeak);
  return true;
}

TensorObject* CreateTensorObject(const Descriptor& descriptor, void* data, Storage* storage, ThreadCache* cache) {
  const size_t size = sizeof(TensorObject) + sizeof(int64_t) * 2 * static_cast<size_t>(descriptor.ndim);
  const bool is_block = size <= kLargeBlock;
  void* block = is_block ? AllocateBlock(cache, kLargeBlock) : malloc(size);
  if (block == nullptr) return nullptr;
  TensorObject* object = static_cast<TensorObject*>(block);
  object->is_block = is_block;
  object->header = TVMFFIObject{kSoleReference, kTVMFFITensor, 0, DeleteTensorObject};
  object->tensor = TensorOver(descriptor, data, object->dims);
  object->storage = storage;
  object->trace = descriptor.trace == 0 ? 0 : BeginTrace(descriptor.trace);
  object->flags = descriptor.flags;
  object->byte_offset = descriptor.byte_offset;
  if (storage != nullptr) RetainStorage(storage, cache);
  Count(cache, counts.exports, 1);
  return object;
}

TensorObject* AsOwnTensor(TVMFFIObject* object) {
  if (object->deleter != DeleteTensorObject) return nullptr;
  TensorObject* own = reinterpret_cast<TensorObject*>(object);
  return own->storage == nullptr ? nullptr : own;
}

Storage* DescribeTensorObject(const TensorObject& object, Descriptor* descriptor) {
  const DLTensor& tensor = object.tensor;
  Clear(descriptor);
  descriptor->dtype = tensor.dtype;
  descriptor->device = tensor.device;
  descriptor->ndim = tensor.ndim;
  descriptor->flags = static_cast<uint32_t>(object.flags);
  descriptor->byte_offset = object.byte_offset;
  for (int32_t i = 0; i < tensor.ndim; ++i) {
    descriptor->shape[i] = object.dims[i];
    descriptor->strides[i] = object.dims[tensor.ndim + i];
  }
  RetainStorage(object.storage);
  return object.storage;
}

}  // namespace dlpack::tvm_ffi
