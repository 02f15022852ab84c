// Managed tensors: ours on the way out, anybody's on the way in. No Node-API here: everything works on any thread.
#ifndef DLPACK_NODE_MANAGED_TENSOR_H_
#define DLPACK_NODE_MANAGED_TENSOR_H_

#include "descriptor.h"
#include "storage.h"
#include "tensor_signature.h"

namespace dlpack {

// Makes a managed tensor that takes over one reference to `storage`. NULL, with the reason in `status` and the
// reference still the caller's, when out of memory or when the tensor does not lie inside the storage. Managed is
// DLManagedTensor or DLManagedTensorVersioned. The caller counts the export, its deleter counts it off.
template <class Managed>
Managed* ExportManaged(const Descriptor& descriptor, Storage* storage, Status* status,
                       ThreadCache* cache = this_thread);

// Takes a managed tensor over: the result owns it and `descriptor` says where in it the tensor lies. On failure the
// result is NULL, `status` says why, `descriptor` is what the error needs, and the deleter has been called once. `last`
// is the signature of the import before, if there is one to be remembered.
template <class Managed>
Storage* ImportManaged(Managed* managed, Descriptor* descriptor, Status* status, TensorSignature* last = nullptr);

// A Storage over the memory of a tensor that `owner` keeps alive; `destroy` counts the import off and drops the owner.
// As above, but on failure nothing was taken.
Storage* WrapTensor(const DLTensor& tensor, uint64_t flags, Descriptor* descriptor, Status* status,
                    TensorSignature* last, void (*destroy)(Storage*), void* owner);

// Whether elements lie where their type does not allow. The struct must have a major version that is known.
bool IsMisaligned(const DLTensor& tensor);

// Calls the deleter, if there is one.
template <class Managed>
inline void DeleteManaged(Managed* managed) {
  if (managed->deleter != nullptr) managed->deleter(managed);
}

}  // namespace dlpack

#endif  // DLPACK_NODE_MANAGED_TENSOR_H_
