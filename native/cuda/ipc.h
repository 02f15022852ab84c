// Memory and events of other processes of this machine, by handles of the driver.
#ifndef DLPACK_NODE_CUDA_IPC_H_
#define DLPACK_NODE_CUDA_IPC_H_

#include "../storage.h"
#include "streams.h"

namespace dlpack {
namespace cuda {

// A number that no other process of this machine has. Process numbers of the system repeat between containers. Any
// thread.
uint64_t ProcessId();

// What another process opens: a whole allocation.
struct SharedRange {
  IpcHandle handle;
  uint64_t process;  // whose memory it is
  Address start;
  uint64_t size;
  int32_t ordinal;
  bool is_shareable;  // false: all else is unknown
};

// The allocation around an address. One that was opened here is described as its owner described it. Some context must
// be current.
Result DescribeMemory(Address address, SharedRange* range);

// `nbytes` bytes at `offset` of memory that `process` shared, mapped once however often it is opened, and until the
// last of those storages goes. NULL with the reason in `result`, which is success when it does not reach so far. Any
// thread.
Storage* OpenMemory(const Device* device, const IpcHandle& handle, uint64_t process, uint64_t offset, uint64_t nbytes,
                    Result* result);

// Work on the memory, from now on, starts after the event of another process. Any thread that holds a reference.
Result FollowEvent(Storage* storage, const StreamRef& stream, const IpcHandle& handle);

}  // namespace cuda
}  // namespace dlpack

#endif  // DLPACK_NODE_CUDA_IPC_H_
