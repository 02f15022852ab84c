// Tensors of Python on CUDA devices on their way in: whose stream waits for whose. GIL held.
#ifndef DLPACK_NODE_PYTHON_DEVICE_IMPORT_H_
#define DLPACK_NODE_PYTHON_DEVICE_IMPORT_H_

#include "../abi/dlpack_abi.h"
#include "../descriptor.h"
#include "../storage.h"
#include "api.h"

namespace dlpack {
namespace python {

// Whether objects of a type are never anywhere but in host memory: those need not be asked.
bool IsHostType(Object* type);

// The stream argument for the object's __dlpack__: our current stream of its device, which the producer is to make
// wait. NULL, with no exception set, for tensors of the host and while there is no driver.
Object* StreamArgument(Object* object);

// What was imported, as the descriptor says, is ready on our current stream: the producer saw to that, or (`table`)
// we wait for the producer's own. Takes the reference over; NULL with an exception set.
Storage* FollowProducer(Storage* storage, const Descriptor& descriptor, DLPackExchangeAPI* table);

}  // namespace python
}  // namespace dlpack

#endif  // DLPACK_NODE_PYTHON_DEVICE_IMPORT_H_
