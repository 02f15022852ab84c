// Import of CUDA tensors from Python: which stream waits for which. GIL held.
#pragma once

#include "../abi/dlpack_abi.h"
#include "../descriptor.h"
#include "../storage.h"
#include "api.h"

namespace dlpack::python {

// The stream argument for the object's __dlpack__: our current stream of its device. The producer makes that stream
// wait for its work. NULL, with no exception set, for host tensors and while no driver is loaded.
Object* StreamArgument(Object* object);

// Records that the imported memory is ready on our current stream. Either the producer made that stream wait, or, with
// a `table`, our stream waits for the producer's stream here. Takes over the reference; NULL with an exception set.
Storage* FollowProducer(Storage* storage, const Descriptor& descriptor, DLPackExchangeAPI* table);

}  // namespace dlpack::python
