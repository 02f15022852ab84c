// CUDA tensors to and from Python: which stream waits for which, and copies. GIL held.
#pragma once

#include "../../cuda/streams/imports.h"
#include "tensor_type.h"

namespace dlpack::python {

// The stream argument of __dlpack__ for a CUDA tensor, numbered as in the array API. NULL: the consumer synchronises
// itself. False with an exception set.
bool ReadStream(Object* value, cuda::StreamHandle* stream);

// Makes the memory ready for work that the consumer queues on `stream` from now on. Does nothing without a driver,
// because then we have no queued work. False with an exception set.
bool HandOver(Storage* storage, const DLDevice& device, cuda::StreamHandle stream);

// The same for the current stream. Returns its number in `stream`.
bool OfferOnCurrentStream(const Body& body, uint64_t* stream);

// Copies the elements in row-major order into new memory of the same device, or of the host. A copy to the host is
// complete on return. NULL with an exception set.
Storage* CopyDeviceElements(const Body& body, bool to_host);

// The stream argument for the object's __dlpack__: our current stream of its device. The producer makes that stream
// wait for its work. NULL, with no exception set, for host tensors and while no driver is loaded.
Object* StreamArgument(Object* object);

// Records that the imported memory is ready on our current stream. Either the producer made that stream wait, or, with
// a `table`, our stream waits for the producer's stream here. Takes over the reference; NULL with an exception set.
Storage* FollowProducer(Storage* storage, const Descriptor& descriptor, DLPackExchangeAPI* table);

}  // namespace dlpack::python
