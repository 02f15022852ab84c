// Managed tensors: ours on the way out, anybody's on the way in. No Node-API here: everything works on any thread.
#ifndef DLPACK_NODE_MANAGED_TENSOR_H_
#define DLPACK_NODE_MANAGED_TENSOR_H_

#include "abi/dlpack_abi.h"
#include "frame.h"
#include "kind.h"
#include "storage.h"

namespace dlpack {

// Makes a managed tensor that takes over one reference to `storage` and describes what `frame` says. NULL, with the
// reason in `status` and the reference still the caller's, when out of memory or when that does not lie inside the
// storage. Managed is DLManagedTensor or DLManagedTensorVersioned. The caller counts the export, its deleter counts it
// off.
template <class Managed>
Managed* ExportManaged(const Frame& frame, Storage* storage, Status* status, ThreadCache* cache = this_thread);

// Whether what the frame describes lies inside so many bytes. The frame is written by JavaScript: a mistake there must
// not become a pointer that somebody follows.
Status CheckFrame(const Frame& frame, uint64_t nbytes);

// Takes a managed tensor over: on success `frame` describes it and the result owns it; on failure the result is NULL,
// `frame->status` says why and the deleter has been called once. With `kind`, the last one of this environment, a
// tensor of the kind that JavaScript remembers (`frame->known`) is described by that number alone.
template <class Managed>
Storage* ImportManaged(Managed* managed, Frame* frame, Kind* kind = nullptr);

// A Storage over the memory of a tensor that `owner` keeps alive; `destroy` counts the import off and lets go of it. On
// success `frame` describes the tensor, as above; on failure the result is NULL, `frame->status` says why and nothing
// was taken.
Storage* WrapTensor(const DLTensor& tensor, uint64_t flags, Frame* frame, Kind* kind, void (*destroy)(Storage*),
                    void* owner);

// Calls the deleter, if there is one.
template <class Managed>
inline void DeleteManaged(Managed* managed) {
  if (managed->deleter != nullptr) managed->deleter(managed);
}

}  // namespace dlpack

#endif  // DLPACK_NODE_MANAGED_TENSOR_H_
