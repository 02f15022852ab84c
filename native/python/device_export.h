// Tensors on CUDA devices on their way to Python: streams and copies. GIL held.
#ifndef DLPACK_NODE_PYTHON_DEVICE_EXPORT_H_
#define DLPACK_NODE_PYTHON_DEVICE_EXPORT_H_

#include "../cuda/imports.h"
#include "tensor_body.h"

namespace dlpack {
namespace python {

// The stream of a consumer. NULL: it sees to the order itself.
typedef cuda::StreamHandle ConsumerStream;

// The stream argument of __dlpack__ for a CUDA tensor, numbered as in the array API. False with an exception set.
bool ReadStream(Object* value, ConsumerStream* stream);

// What the consumer queues on `stream` from now on finds the memory ready. Nothing to do without a driver: then nothing
// of ours was queued. False with an exception set.
bool HandOver(Storage* storage, const DLDevice& device, ConsumerStream stream);

// The same for the current stream, whose number is the result.
bool OfferOnCurrentStream(const Body& body, uint64_t* stream);

// The elements, row-major, in new memory of the same device, or of the host when this returns. NULL with an exception
// set.
Storage* CopyDeviceElements(const Body& body, bool to_host);

}  // namespace python
}  // namespace dlpack

#endif  // DLPACK_NODE_PYTHON_DEVICE_EXPORT_H_
