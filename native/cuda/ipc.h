// Memory and events of other processes of this machine, by handles of the driver.
#pragma once

#include "../storage.h"
#include "streams.h"

namespace dlpack::cuda {

// A number that identifies this process on the machine. Process numbers of the system are not enough, because they
// repeat between containers. Any thread.
uint64_t ProcessId();

// A whole allocation, which another process can open.
struct SharedRange {
  IpcHandle handle;
  uint64_t process;  // whose memory it is
  Address start;
  uint64_t size;
  int32_t ordinal;
  bool is_shareable;  // false: the other fields are unknown
};

// Describes the allocation that contains an address. Memory that was opened here is described as its owner described
// it. A context must be current.
Result DescribeMemory(Address address, SharedRange* range);

// `nbytes` bytes at `offset` of memory that `process` shared. The memory is mapped once for all storages, until the
// last storage is destroyed. NULL with the reason in `result`; success there means that the memory is too small. Any
// thread.
Storage* OpenMemory(const Device* device, const IpcHandle& handle, uint64_t process, uint64_t offset, uint64_t nbytes,
                    Result* result);

// Work that is queued on the memory from now on starts after the event of another process. Any thread that holds a
// reference.
Result FollowEvent(Storage* storage, const StreamRef& stream, const IpcHandle& handle);

}  // namespace dlpack::cuda
