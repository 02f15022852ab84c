#include "tensor_object.h"

#include <stdlib.h>

#include "../library.h"

namespace dlpack::tvm_ffi {

static void FreeTensorObject(TensorObject* object, ThreadCache* cache) {
  if (object->is_block) {
    GiveBlockBack(cache, kLargeBlock, BlockOf(object));
  } else {
    free(BlockOf(object));
  }
}

// Any thread. The strong flag releases the contents, the weak flag frees the block.
static void DeleteTensorObject(void* self, int flags) {
  TensorObject* object = static_cast<TensorObject*>(self);
  ThreadCache* cache = this_thread;
  if ((flags & kTVMFFIObjectDeleterFlagBitMaskStrong) != 0) {
    EndTrace(object->trace);
    Count(cache, Counter::kExports, -1);
    if (object->storage != nullptr) ReleaseStorage(object->storage, cache);
  }
  if ((flags & kTVMFFIObjectDeleterFlagBitMaskWeak) != 0) FreeTensorObject(object, cache);
}

// A strong and a weak count, each of one reference.
static const uint64_t kSoleReference = (uint64_t{1} << 32) | 1;

TensorObject* LendTensorObject(const Descriptor& descriptor, void* data, Storage* storage, ThreadCache* cache) {
  const size_t dims = sizeof(int64_t) * 2 * static_cast<size_t>(descriptor.layout->ndim);
  const size_t size = sizeof(TVMFFIObjectAllocHeader) + sizeof(TensorObject) + dims;
  const bool is_block = size <= kLargeBlock;
  void* block = is_block ? AllocateBlock(cache, kLargeBlock) : malloc(size);
  if (block == nullptr) return nullptr;
  TensorObject* object = static_cast<TensorObject*>(ObjectIn(block));
  object->is_block = is_block;
  object->header = TVMFFIObject{kSoleReference, kTVMFFITensor, 0, DeleteTensorObject};
  object->tensor = TensorOver(descriptor, data, object->dims);
  object->storage = storage;
  object->trace = descriptor.trace == 0 ? 0 : BeginTrace(descriptor.trace);
  object->flags = descriptor.layout->flags;
  object->byte_offset = descriptor.byte_offset;
  return object;
}

void EndTensorObject(TensorObject* object, ThreadCache* cache) {
  if (__atomic_load_n(&object->header.combined_ref_count, __ATOMIC_ACQUIRE) == kSoleReference) {
    EndTrace(object->trace);
    FreeTensorObject(object, cache);
    return;
  }
  // No other thread deletes the object before the caller's reference is gone.
  if (object->storage != nullptr) RetainStorage(object->storage, cache);
  Count(cache, Counter::kExports, 1);
  library.ObjectDecRef(object);
}

TensorObject* AsOwnTensor(TVMFFIObject* object) {
  if (object->deleter != DeleteTensorObject) return nullptr;
  TensorObject* own = reinterpret_cast<TensorObject*>(object);
  return own->storage == nullptr ? nullptr : own;
}

Storage* DescribeTensorObject(const TensorObject& object, Layout* layout, Descriptor* tensor) {
  layout->dtype = object.tensor.dtype;
  layout->device = object.tensor.device;
  layout->ndim = object.tensor.ndim;
  layout->flags = object.flags;
  for (int32_t i = 0; i < layout->ndim; ++i) {
    layout->shape[i] = object.dims[i];
    layout->strides[i] = object.dims[layout->ndim + i];
  }
  Measure(layout);
  *tensor = {layout, object.byte_offset, 0};
  RetainStorage(object.storage);
  return object.storage;
}

}  // namespace dlpack::tvm_ffi
