// The dicts of the array interfaces of NumPy and CUDA: their entries, and how our tensors fill them. GIL held.
#pragma once

#include "tensor_body.h"

namespace dlpack::python {

// The entries, in CuPy's order.
enum InterfaceKey { kShape, kTypestr, kDescr, kStream, kVersion, kStrides, kData, kMask, kInterfaceKeys };

// The names of the entries, interned. Made on first use; NULL with an exception set.
Object* const* InterfaceKeys();

// Sets an entry and takes over the reference of the value. False with an exception set, also for a value that is NULL.
bool SetEntry(Object* dict, Object* key, Object* value);

// A dict with all entries that both interfaces have, for elements of `item` bytes at `data`. NULL with an exception
// set.
Object* NewInterface(const Body& body, const void* data, const char* typestr, int64_t item);

}  // namespace dlpack::python
