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

// Memory of a device that other processes can open: beside the pool, and whole pages of it, so that nothing of others
// is opened along with it. NULL with the reason in `result`. Any thread.
Storage* AllocateShareable(Device* device, uint64_t nbytes, Result* result);

// The stream that memory of our own was allocated on and goes back on; none for all other memory. `destroy` is the one
// that the storage was made with.
StreamRef AllocationStream(const Storage* storage, void (*destroy)(Storage*));

// Gives blocks that were kept for a stream back to the pool. Any thread.
void FlushCache(BlockCache* cache);

// Gives what the pool of a device keeps for later back to the device, after work that is queued now.
Result TrimPool(Device* device);

}  // namespace cuda
}  // namespace dlpack

#endif  // DLPACK_NODE_CUDA_MEMORY_H_
