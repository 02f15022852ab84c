// Managed tensors: export of our tensors and import of any producer's. No Node-API here, so everything works on any
// thread.
#pragma once

#include "../memory/storage.h"
#include "../wire/layouts.h"
#include "descriptor.h"

namespace dlpack {

// A tensor from outside. If it was refused, `tensor` has the fields for the error message.
struct Imported {
  Descriptor tensor{&room, 0, 0};
  LayoutRoom room;              // the layout, unless a table keeps it
  DLPackVersion version{0, 0};  // of the managed tensor; 0.0: legacy, or none

  // The layout, for changes.
  Layout* OwnLayout() {
    if (tensor.layout != &room) CopyLayout(*tensor.layout, &room);
    room.number = 0;
    tensor.layout = &room;
    return &room;
  }
};

// Makes a managed tensor with a reference to `storage`, and counts it until its deleter runs. NULL, with the reason in
// `status`, when out of memory or when the tensor does not lie inside the storage. Managed is DLManagedTensor or
// DLManagedTensorVersioned.
template <class Managed>
Managed* ExportManaged(const Descriptor& descriptor, Storage* storage, Status* status);

// As above for a tensor that lies inside the storage. Takes over a reference of the caller, unless out of memory.
template <class Managed>
Managed* ExportChecked(const Descriptor& descriptor, Storage* storage, ThreadCache* cache);

// Takes over a managed tensor: the result owns it, and `imported` describes the tensor in it. On failure the result is
// NULL, `status` has the reason, and the deleter was called once. `layouts` has layouts that were checked before, or is
// NULL. `dtype` replaces that of the tensor, unless it is NULL. The struct of the producer does not change.
template <class Managed>
Storage* ImportManaged(Managed* managed, const LayoutTable* layouts, Imported* imported, Status* status,
                       const DLDataType* dtype = nullptr);

// Checks everything about a foreign tensor except its memory, and describes it as far as possible. `layout` has room
// for all axes.
Status DescribeLayout(const DLTensor& tensor, uint64_t flags, Layout* layout);

// A Storage over the memory of a tensor that `owner` keeps alive; `destroy` subtracts the import from the count and
// drops the owner. As above, but on failure the caller keeps the owner.
Storage* WrapTensor(const DLTensor& tensor, uint64_t flags, const LayoutTable* layouts, Imported* imported,
                    Status* status, void (*destroy)(Storage*), void* owner, ThreadCache* cache = this_thread);

// Whether the elements are misaligned for their type. The struct must have a known major version.
bool IsMisaligned(const DLTensor& tensor);

// The DLPackExchangeAPI table of the process, in exchange_api.cc. Any thread.
DLPackExchangeAPI* ExchangeApi();

// The minimal check for a number that should be an address.
inline bool IsPlausible(uint64_t address) { return address >= 4096 && address % alignof(DLTensor) == 0; }

// Calls the deleter, if there is one.
template <class Managed>
inline void DeleteManaged(Managed* managed) {
  if (managed->deleter != nullptr) managed->deleter(managed);
}

}  // namespace dlpack
