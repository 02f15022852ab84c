// Memory of devices, and of the host where devices reach it.
#ifndef DLPACK_NODE_CUDA_MEMORY_H_
#define DLPACK_NODE_CUDA_MEMORY_H_

#include "../abi/dlpack_abi.h"
#include "../storage.h"
#include "streams.h"

namespace dlpack {
namespace cuda {

// True for the types that AllocateMemory takes.
inline bool CanAllocate(int32_t device_type) {
  return device_type == kDLCUDA || device_type == kDLCUDAHost || device_type == kDLCUDAManaged;
}

// Memory of a type, for work that is queued on `stream`. NULL with the reason in `result`. Any thread.
Storage* AllocateMemory(DLDeviceType type, Device* device, uint64_t nbytes, StreamHandle stream, Result* result);

// Memory of a device that other processes can open: beside the pool, and in whole pages, so that they open nothing else
// along with it. NULL with the reason in `result`. Any thread.
Storage* AllocateShareable(Device* device, uint64_t nbytes, Result* result);

// The stream that memory of our own was allocated on and is freed on; none for all other memory. `destroy` is the
// function that the storage was made with.
StreamRef AllocationStream(const Storage* storage, void (*destroy)(Storage*));

// Returns blocks that were kept for a stream to the pool. Any thread.
void FlushCache(BlockCache* cache);

// Returns what the pool of a device keeps for later to the device, after the work that is queued now.
Result TrimPool(Device* device);

}  // namespace cuda
}  // namespace dlpack

#endif  // DLPACK_NODE_CUDA_MEMORY_H_
