// The consumer's side of an exchange: our stream waits for the producer's work.
#pragma once

#include "../memory/memory.h"
#include "uses.h"

namespace dlpack::cuda {

// The current stream of device `consumer` waits for the work that is queued on `stream` of device `producer`, and our
// later work on other streams waits for the current stream. NULL: the producer needs no wait. There is no wait for a
// stream that is captured into a graph, because nothing runs on it and the wait would become part of the graph. Any
// thread that holds a reference.
Result FollowProducer(Storage* storage, int32_t producer, int32_t consumer, StreamHandle stream);

// What the driver knows about an address: its allocation and where that is.
struct Location {
  int32_t kind;  // DLDeviceType; 0: unknown to the driver
  int32_t ordinal;
  Address start;
  size_t size;  // 0: unknown to the driver
};

// Success with kind 0 for memory that CUDA does not know. Any thread.
Result FindLocation(Address address, Location* location);

// True for memory that CUDA streams work on.
inline bool IsCudaDevice(int32_t device_type) { return device_type == kDLCUDA || device_type == kDLCUDAManaged; }

// The device whose streams work on the memory. Managed memory belongs to no device, so device 0 is used.
inline int32_t OrdinalOf(int32_t device_type, int32_t device_id) { return device_type == kDLCUDA ? device_id : 0; }

}  // namespace dlpack::cuda
