// Our tensors as TVM-FFI tensor objects: reference-counted, with the layout of the ABI. Any thread may release them.
#pragma once

#include "../abi/tvm_ffi_abi.h"
#include "../descriptor.h"
#include "../storage.h"
#include "../trace.h"

namespace dlpack::tvm_ffi {

struct TensorObject {
  TVMFFIObject header;
  DLTensor tensor;   // the last field that the ABI defines
  Storage* storage;  // NULL: the memory is borrowed from JavaScript
  uint32_t trace;    // see trace.h; 0: none
  uint64_t flags;    // DLPACK_FLAG_BITMASK_*; the library has no field for them
  uint64_t byte_offset;
  bool is_block;  // its memory is a large block of the thread cache; stored, because code could overwrite the shape
  int64_t dims[];
};

static_assert(offsetof(TensorObject, tensor) == 24 && offsetof(TensorObject, storage) == 72, "TensorObj of the ABI");

// Returns one reference for the caller, and takes a reference to `storage` unless it is NULL. The storage begins at
// `data`. NULL when out of memory. `cache` is that of the thread.
TensorObject* CreateTensorObject(const Descriptor& descriptor, void* data, Storage* storage,
                                 ThreadCache* cache = this_thread);

// Deletes an object whose only reference is the caller's, without locked instructions. False, with nothing done, if
// there are other references.
bool DeleteSoleReference(TensorObject* object);

// The object as ours; NULL when other code made it, or when its memory is borrowed.
TensorObject* AsOwnTensor(TVMFFIObject* object);

// Describes an object that we made and returns its storage with a reference for the caller.
Storage* DescribeTensorObject(const TensorObject& object, Descriptor* descriptor);

}  // namespace dlpack::tvm_ffi
