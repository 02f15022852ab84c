// Copies between device memory, host memory, and both.
#pragma once

#include "../../exchange/descriptor.h"
#include "../streams/stream.h"

namespace dlpack::cuda {

// A copy of items of one size. Steps are in bytes. The outermost axis is first; axes are sorted by the target's steps.
struct DeviceCopy {
  char* source;
  char* target;
  bool is_source_reachable;  // the device that runs the copy can access it; false for plain host memory
  bool is_target_reachable;
  int64_t item;
  int32_t ndim;
  int64_t shape[kMaxNdim];
  int64_t source_steps[kMaxNdim];
  int64_t target_steps[kMaxNdim];
};

// Queues the copy. kNotSupported, with nothing queued, for strides that only the device or only the host could follow.
Result QueueCopy(Device* device, const DeviceCopy& request, StreamHandle stream);

}  // namespace dlpack::cuda
