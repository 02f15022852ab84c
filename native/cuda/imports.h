// The consumer's side of an exchange: our stream waits for the producer's work.
#ifndef DLPACK_NODE_CUDA_IMPORTS_H_
#define DLPACK_NODE_CUDA_IMPORTS_H_

#include "memory.h"
#include "uses.h"

namespace dlpack {
namespace cuda {

// The current stream of device `consumer` waits for what `stream` of device `producer` has now, and our work on other
// streams will wait for it. NULL: the producer asks for no wait. A stream that is captured into a graph is not waited
// for, because nothing runs on it and the wait would become part of the graph. Any thread that holds a reference.
Result FollowProducer(Storage* storage, int32_t producer, int32_t consumer, StreamHandle stream);

// What the driver knows of an address: the allocation around it and where that is.
struct Location {
  int32_t kind;  // DLDeviceType; 0: unknown to the driver
  int32_t ordinal;
  Address start;
  size_t size;  // 0: the driver does not tell
};

// kind 0, and success, for memory that is not CUDA's. Any thread.
Result FindLocation(Address address, Location* location);

// True for memory that streams of CUDA work on.
inline bool IsCudaDevice(int32_t device_type) { return device_type == kDLCUDA || device_type == kDLCUDAManaged; }

// The device whose streams work on the memory: managed memory belongs to no device, and the first one works on it.
inline int32_t OrdinalOf(int32_t device_type, int32_t device_id) { return device_type == kDLCUDA ? device_id : 0; }

}  // namespace cuda
}  // namespace dlpack

#endif  // DLPACK_NODE_CUDA_IMPORTS_H_
