// Our tensors as TVM-FFI tensor objects: reference-counted, with the layout of the ABI. Any thread may release them.
#pragma once

#include "../../abi/tvm_ffi_abi.h"
#include "../../exchange/descriptor.h"
#include "../../memory/storage.h"
#include "../../trace.h"

namespace dlpack::tvm_ffi {

struct TensorObject {
  TVMFFIObject header;
  DLTensor tensor;   // the last field that the ABI defines
  Storage* storage;  // NULL: JavaScript lends the memory
  uint32_t trace;    // see trace.h; 0: none
  uint32_t held;     // during a call: the number under which JavaScript holds the tensor
  uint32_t flags;    // DLPACK_FLAG_BITMASK_*; the library has no field for them
  bool is_block;     // its memory is a large block of the thread cache; stored, because code could overwrite the shape
  uint64_t byte_offset;
  int64_t dims[];
};

static_assert(offsetof(TensorObject, tensor) == 24 && offsetof(TensorObject, storage) == 72, "TensorObj of the ABI");

// An object with one reference for the caller, who keeps `storage` alive until EndTensorObject. The storage begins at
// `data`; NULL: JavaScript lends the memory. NULL when out of memory. `cache` is that of the thread.
TensorObject* LendTensorObject(const Descriptor& descriptor, void* data, Storage* storage, ThreadCache* cache);

// Drops the caller's reference. An object that others hold, too, gets its own reference to the storage first.
void EndTensorObject(TensorObject* object, ThreadCache* cache);

// The object as ours; NULL when other code made it, or when its memory is lent.
TensorObject* AsOwnTensor(TVMFFIObject* object);

// Describes an object that we made and returns its storage with a reference for the caller. `layout` has room for all
// axes.
Storage* DescribeTensorObject(const TensorObject& object, Layout* layout, Descriptor* tensor);

}  // namespace dlpack::tvm_ffi
