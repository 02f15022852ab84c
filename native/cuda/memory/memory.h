// Device memory, and host memory that devices can access.
#pragma once

#include "../../abi/dlpack_abi.h"
#include "../../memory/storage.h"
#include "../streams/stream.h"

namespace dlpack::cuda {

// True for the types that AllocateMemory takes.
inline bool CanAllocate(int32_t device_type) {
  return device_type == kDLCUDA || device_type == kDLCUDAHost || device_type == kDLCUDAManaged;
}

// Allocates memory of a type for work on `stream`. NULL with the reason in `result`. Any thread.
Storage* AllocateMemory(DLDeviceType type, Device* device, uint64_t nbytes, StreamHandle stream, Result* result);

// Allocates device memory that other processes can open. It is not from the pool and takes whole pages, so that they
// open no other memory with it. NULL with the reason in `result`. Any thread.
Storage* AllocateShareable(Device* device, uint64_t nbytes, Result* result);

// The stream on which our pooled memory was allocated and is freed; none for all other memory. `destroy` is the
// function that the storage was made with.
StreamRef AllocationStream(const Storage* storage, void (*destroy)(Storage*));

// Returns the blocks of a stream's cache to the pool. Any thread.
void FlushCache(BlockCache* cache);

// Returns the unused memory of a device's pool to the device, after the work that is queued now.
Result TrimPool(Device* device);

}  // namespace dlpack::cuda
