// Messages in slots of the wire. Written by "npm run wire" from scripts/wire/messages.mjs; change it there.
#pragma once

#include "../wire/wire_layout.h"

namespace dlpack::cuda {

// New device memory, or host memory that devices can access, for work on a stream.
struct alignas(8) DeviceAllocation {
  // the CUresult, written by native code
  int32_t status;
  // the number of the device
  int32_t device;
  // the storage in the table of the instance, written by native code
  uint32_t handle;
  // a DLDeviceType
  int32_t device_type;
  // the number of bytes
  double nbytes;
  // the driver's handle of a stream
  uint64_t stream;
};
static_assert(offsetof(DeviceAllocation, status) == 0);
static_assert(offsetof(DeviceAllocation, device) == 4);
static_assert(offsetof(DeviceAllocation, handle) == 8);
static_assert(offsetof(DeviceAllocation, device_type) == 12);
static_assert(offsetof(DeviceAllocation, nbytes) == 16);
static_assert(offsetof(DeviceAllocation, stream) == 24);
static_assert(sizeof(DeviceAllocation) == 32);

}  // namespace dlpack::cuda
